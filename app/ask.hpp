// Common parts of every command that asks cuDNN: options, targets, progress, reports, exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "ask/ask.hpp"
#include "ask/plan.hpp"
#include "option_checks.hpp"
#include "output.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::app {

struct AskOptions {
  std::string target, cudnn, output, errata, modes = "A,B,FALLBACK";
  std::vector<std::string> reports, frameworks;
  std::string format = "table";
  std::vector<NamedFile> inputs;  ///< files that the command reads: no report may replace them
  asking::PlanOptions how;
  asking::Session session;
  bool verbose = false;
  bool fetch = false;   ///< downloads a missing cuDNN without asking the user
  bool resume = false;  ///< continues with the findings of an interrupted run with the same `output`
};

/// The common options of these commands. `default_target` describes the default of --target.
void add_ask_options(CLI::App& command, AskOptions& options, const std::string& default_target);

/// The targets of --target; by default this machine's GPUs, or `otherwise` (a selection of simulated GPUs) if there are
/// none.
std::vector<gpu::Target> choose_targets(const AskOptions& options, const std::string& otherwise);

/// Throws Error(usage) if two reports are the same file, or if one would replace an input. Does not open files.
void check_outputs(const AskOptions& options);

/// Parses a comma-separated list of modes. Throws Error(usage) for an unknown mode.
void read_modes(const std::string& list, probe::WalkOptions& walk);

/// --mode, --engines, --plans, --sweep and --quick, --timeout, --jobs, and the options for running plans. Plans are
/// automatic by default; `how` determines whether the walk sweeps.
void add_walk_options(CLI::App& command, std::string& modes, asking::PlanOptions& how);
void add_run_options(CLI::App& command, run::RunOptions& run_options);

/// --framework: words for rules::choose_gates().
void add_framework_option(CLI::App& command, std::vector<std::string>& words);

/// Prints a warning on standard error: lib modules report skipped parts here.
void warn(const std::string& problem);

/// From now on, the first Ctrl-C or SIGTERM sets the returned flag, so that running work ends and results are written;
/// the second one kills.
const std::atomic<bool>* stop_gently();
/// Whether such a signal has arrived, so that later failures may be its consequence.
bool was_stopped();

/// The version for which graphs are built: that of the cuDNN that would be asked; warns if there is none.
CudnnVersion version_for_graphs(const AskOptions& options);

/// The questions, and the command's own texts for the report.
struct Work {
  std::vector<asking::QuestionGroup> groups;
  /// Additional keys of a JSON report.
  std::function<void(Json& report, const report::Results& results)> add_to_json;
  /// Text before and after the results.
  std::function<std::string(const report::Results&results, const report::TextStyle&style)> before, after;
  /// Combined with the results' own exit code; the more severe one wins.
  std::function<int(const report::Results& results)> exit_code;
};

/// Asks, reports and returns the exit code. Precondition: check_outputs(). Opens report files before it calls `plan`,
/// and calls `plan` before it asks cuDNN, so that invalid paths and input are reported first.
int ask(AskOptions options, const std::function<Work(const AskOptions& options)>& plan);

/// An option whose words are the names of an enum.
template <class E>
CLI::Option* add_enum_option(CLI::App& command, const std::string& name, E& value, const std::string& help) {
  const auto set = [&value](const std::string& word) { value = parse_enum<E>(word).value(); };
  return command.add_option_function<std::string>(name, set, help)->transform(one_of(names_of<E>()));
}

/// The text style for this terminal.
report::TextStyle terminal_style(bool verbose);

struct NamedGraph {
  std::string name, description;
  graph::OpGraph graph;
};

/// Writes the output of --dump-graph, like write_data: `form`: "dot", or "json" with one object per graph.
void write_graphs(const std::string& file, const std::string& form, const std::vector<NamedGraph>& graphs);

}  // namespace attnprobe::app
