#include "trace/trace.hpp"

#include <poll.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "trace/engine_lines.hpp"
#include "trace/log_variables.hpp"
#include "trace/running.hpp"

namespace attnprobe::trace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int between_looks_ms = 50;

double own_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The names from NVIDIA's kernel driver; none without a driver.
std::vector<std::string> gpus_of_machine() {
  constexpr std::string_view key = "Model:";
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", error)) {
    std::ifstream file(entry.path() / "information");
    for (std::string line; std::getline(file, line);)
      if (line.starts_with(key)) names.emplace_back(trim(std::string_view(line).substr(key.size())));
  }
  return names;
}

// Runs until the program has ended.
worker::ProcessEnd follow_program(TracedProgram& program, const Guard& guard, const CaughtSignals& signals,
                                  int new_logs, const std::function<bool()>& look,
                                  const std::function<bool()>& take_stderr) {
  bool more = false;
  while (true) {
    std::array<pollfd, 3> ready{
        {{signals.descriptor(), POLLIN, 0}, {new_logs, POLLIN, 0}, {program.stderr_descriptor(), POLLIN, 0}}};
    poll(ready.data(), ready.size(), more ? 0 : between_looks_ms);
    if (ready[2].revents != 0) take_stderr();
    if (ready[0].revents != 0)
      if (const auto end = program.take_signals(guard)) return *end;
    more = look();
  }
}

}  // namespace

Trace run_trace(const TraceOptions& options) {
  LogFolder folder(options.keep_logs);
  const LogVariables variables = log_variables(folder, options.reads_stderr, own_variable);
  Guard guard(folder.path(), folder.is_kept());
  Observer observer(folder, options.on_graph);
  const CaughtSignals signals;
  ProgramStart start;
  start.words = options.words;
  start.environment = variables.set;
  start.default_signals = options.default_signals;
  start.reads_stderr = options.reads_stderr;
  const double cpu_before = own_cpu_seconds();
  const auto begun = Clock::now();
  TracedProgram program(start, signals);
  Trace trace;
  trace.start_error = program.start_error();
  if (trace.start_error != 0) return trace;
  guard.watch(program.pid());

  EngineLines engine_lines(own_variable("NVTE_DEBUG").has_value());
  // Returns whether anything arrived.
  const auto take_stderr = [&] {
    const std::string text = program.read_stderr();
    observer.take_stderr(text);
    const std::string own = engine_lines.without(text);
    try {
      if (!own.empty()) options.pass_on_stderr(own);
    } catch (const Error&) {
      program.close_stderr();
    }
    return !text.empty();
  };
  // Waits for the program, even if reading the logs fails.
  std::set<std::string> problems;
  const auto look = [&] {
    try {
      return observer.look();
    } catch (const std::exception& e) {
      problems.insert(e.what());
      return false;
    }
  };
  trace.end = follow_program(program, guard, signals, observer.descriptor(), look, take_stderr);
  trace.seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  while (program.stderr_descriptor() >= 0 && take_stderr()) {
  }
  try {
    if (const std::string rest = engine_lines.rest(); !rest.empty()) options.pass_on_stderr(rest);
    trace.findings = observer.finish();
  } catch (const std::exception& e) {
    problems.insert(e.what());
  }
  auto& notes = trace.findings.notes;
  for (const auto& problem : problems) notes.push_back("a part of the logs could not be read: " + problem);
  notes.insert(notes.begin(), variables.kept.begin(), variables.kept.end());
  if (!folder.problem().empty()) notes.push_back(folder.problem());
  trace.findings.gpus = gpus_of_machine();
  trace.findings.reading_cpu_seconds = own_cpu_seconds() - cpu_before;
  if (!folder.is_kept() && any_process_names(folder.path())) {
    guard.leave_behind();
    folder.leave_behind();
  }
  return trace;
}

}  // namespace attnprobe::trace
