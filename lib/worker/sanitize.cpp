#include "worker/sanitize.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/text.hpp"
#include "fetch/command.hpp"
#include "worker/sanitizer_log.hpp"

namespace attnprobe::worker {
namespace {

namespace fs = std::filesystem;
using probe::SanitizerFindings;
using probe::SanitizerStatus;

constexpr const char* program_name = "compute-sanitizer";

// A file for the tool's output, deleted afterwards.
class LogFile {
 public:
  LogFile() : path_((fs::temp_directory_path() / "attnprobe-sanitizer-XXXXXX").string()) {
    descriptor_ = FileDescriptor(mkstemp(path_.data()));
    if (!descriptor_)
      throw Error(ErrorKind::environment,
                  fmt::format("cannot create a file in {}", fs::temp_directory_path().string()));
  }
  ~LogFile() { unlink(path_.c_str()); }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  const std::string& path() const { return path_; }
  std::string text() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::string path_;
  FileDescriptor descriptor_;
};

// Failing driver calls do not count as errors of a plan: cuDNN tests its abilities with them.
std::vector<std::string> command_line(run::Sanitizer tool, const std::string& log) {
  return {sanitizer_program(),
          "--tool",
          std::string(name_of(tool)),
          "--target-processes",
          "all",
          "--report-api-errors",
          "no",
          "--show-backtrace",
          "no",
          "--print-limit",
          "10000",
          "--log-file",
          log};
}

}  // namespace

std::string sanitizer_program() {
  if (const auto found = fetch::first_on_path({program_name})) return *found;
  std::vector<fs::path> toolkits;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* folder = std::getenv(variable)) toolkits.emplace_back(folder);
  toolkits.emplace_back("/usr/local/cuda");
  for (const auto& toolkit : toolkits) {
    const fs::path file = toolkit / "bin" / program_name;
    if (file.is_absolute() && access(file.c_str(), X_OK) == 0) return file.string();
  }
  throw Error(
      ErrorKind::environment,
      "--sanitize: compute-sanitizer is neither on PATH nor in bin of CUDA_HOME, CUDA_PATH or /usr/local/cuda; it is part of "
      "the CUDA Toolkit (conda: cuda-sanitizer-api)");
}

SanitizerFindings sanitize(run::Sanitizer tool, const StartWorkerUnder& start, const Json& graph,
                           const probe::EngineConfigFindings& config, run::RunOptions options) {
  // Every kernel is many times slower under the tool, so only the plan is executed.
  options.sanitizers.clear();
  options.verify = false;
  options.repeat = 0;
  options.timing = run::Timing::none;
  const LogFile log;
  std::string trouble;
  bool timed_out = false;
  try {
    const auto client = start(command_line(tool, log.path()));
    const run::Outcome outcome = client->run(graph, config.engine, config.knobs, options);
    if (!outcome.run)
      trouble = "its plan was not built there";
    else if (!probe::ran(*outcome.run) && outcome.run->status != probe::RunStatus::wrong_result)
      trouble = fmt::format("{}: {}", name_of(outcome.run->status), outcome.run->message);
    client->end();
  } catch (const WorkerLost& lost) {
    trouble = fmt::format("{}; it was at: {}", lost.end.text(), lost.stage.text);
    timed_out = lost.timed_out;
    if (!lost.output.empty()) trouble += fmt::format("; its last words: {}", cut(trim(lost.output)));
  } catch (const Error& e) {
    trouble = e.what();
  }
  SanitizerFindings findings = read_sanitizer_log(log.text());
  findings.tool = name_of(tool);
  if (timed_out) findings.status = SanitizerStatus::timeout;
  if (findings.status == SanitizerStatus::failed && trouble.empty()) trouble = "its log has no summary";
  findings.message = trouble;
  return findings;
}

}  // namespace attnprobe::worker
