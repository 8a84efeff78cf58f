#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "option_checks.hpp"
#include "output.hpp"
#include "trace/trace_report.hpp"
#include "trace_bill.hpp"

namespace attnprobe::app {
namespace {

struct TraceCommand {
  std::vector<std::string> program, misplaced;
  std::string configs, report, format = "table", keep_logs;
  bool follow = false, reads_stderr = false;
};

// A shell's exit code for a program that cannot be started.
int not_started(const std::string& program, int error) {
  constexpr int not_found = 127, not_executable = 126;
  spdlog::error("trace: \"{}\" cannot be started: {}{}", cut(program), std::strerror(error),
                error == ENOENT && program.find('/') == std::string::npos ? " in the folders of PATH" : "");
  return error == ENOENT ? not_found : not_executable;
}

// Standard output belongs to the traced program, so the report goes to standard error.
void write_report(const std::optional<OutputFile>& file, const std::string& format, const trace::Trace& trace,
                  const trace::TraceOptions& options) {
  report::TextStyle style;
  style.colour = !file && wants_colour(STDERR_FILENO);
  const std::string text =
      format == "json" ? json_text(trace_json(trace, options), 2) + "\n" : trace_text(trace, options, style);
  const std::string shown = format == "json" ? text : printable(text);
  if (file)
    file->replace(shown);
  else
    write_all(STDERR_FILENO, shown, "standard error");
}

void write_configs(const OutputFile& file, const std::string& name, const trace::Trace& trace) {
  int64_t left_out = 0;
  const Json configs = trace_configs(trace, &left_out);
  if (left_out > 0) spdlog::warn("{}: skipped attention that cannot be expressed as a config: {}", name, left_out);
  if (configs["configs"].empty()) {
    spdlog::warn("{} is not written: no attention was seen", name);
    return;
  }
  file.replace(json_text(configs, 2) + "\n");
}

int run_traced(const TraceCommand& command) {
  const auto& misplaced = command.misplaced;
  if (!misplaced.empty() || command.program.empty())
    throw Error(ErrorKind::usage,
                fmt::format("trace: {}; put the program after --: attnprobe trace -- python train.py",
                            misplaced.empty() ? "no program is given"
                                              : fmt::format("\"{}\" is not an option", cut(misplaced.front()))));
  std::vector<NamedFile> outputs;
  if (!command.configs.empty()) outputs.push_back({"--output " + command.configs, command.configs});
  if (!command.report.empty()) outputs.push_back({"--report " + command.report, command.report});
  check_outputs(outputs, {});
  std::optional<OutputFile> configs, report;
  if (!command.configs.empty()) configs.emplace(command.configs);
  if (!command.report.empty()) report.emplace(command.report);
  trace::TraceOptions options;
  options.words = command.program;
  options.keep_logs = command.keep_logs;
  options.reads_stderr = command.reads_stderr;
  options.default_signals = signals_for_programs();
  const auto begun = std::chrono::steady_clock::now();
  if (command.follow)
    options.on_graph = [begun](int64_t pid, const replay::LoggedGraph& graph) {
      const std::string line = trace::news_line(graph);
      if (line.empty()) return;
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
      spdlog::info("{:.1f} s, process {}: {}", seconds, pid, line);
    };
  options.pass_on_stderr = [](std::string_view text) { write_all(STDERR_FILENO, text, "standard error"); };
  trace::Trace trace = run_trace(options);
  if (trace.start_error != 0) return not_started(command.program.front(), trace.start_error);
  // From here on, the exit status is the program's, even if the report fails.
  try {
    if (configs) write_configs(*configs, command.configs, trace);
  } catch (const std::exception& e) {
    spdlog::error("{}", e.what());
  }
  try {
    add_bill(trace);
    write_report(report, command.format, trace, options);
  } catch (const std::exception& e) {
    spdlog::error("{}", e.what());
  }
  trace::end_as(trace.end);
}

}  // namespace

void add_trace(CLI::App& app, Run& run, const std::vector<std::string>& program) {
  auto options = std::make_shared<TraceCommand>();
  auto* command =
      app.add_subcommand("trace", "Run a program and report its attention calls to cuDNN, their engines, and refusals");
  command->footer("Exit code: the program's own, or its signal; 127 if it is not found, 126 if it is not executable.");
  command->add_option("PROGRAM", options->misplaced,
                      "the program and its arguments, after --: attnprobe trace -- python train.py");
  command->add_option("-o,--output", options->configs,
                      "file for the configs, to ask about them on another machine or GPU");
  command->add_option("--report", options->report, "file for the report; default: standard error");
  command->add_option("-f,--format", options->format, "table or json")->transform(one_of({"table", "json"}));
  command->add_flag("--follow", options->follow, "also report on standard error while the program runs");
  command->add_flag(
      "--stderr", options->reads_stderr,
      "also read warnings of frameworks from the program's standard error, which is then a pipe, not a terminal");
  command->add_option("--keep-logs", options->keep_logs,
                      "keep the logs in this folder; they grow while the program runs");
  command->callback([options, &program, &run] {
    options->program = program;
    run = [options] { return run_traced(*options); };
  });
}

}  // namespace attnprobe::app
