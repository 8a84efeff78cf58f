// What every command does that puts questions to cuDNN: options, targets, progress, reports, exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "campaign/ask.hpp"
#include "campaign/plan.hpp"
#include "output.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::app {

struct AskOptions {
  std::string target, cudnn, output, errata, modes = "A,B,FALLBACK";
  std::vector<std::string> reports, frameworks;
  std::string format = "table";
  std::vector<NamedFile> inputs;  ///< what the command reads: no report may replace it
  campaign::PlanOptions campaign;
  campaign::Session session;
  bool verbose = false;
  bool fetch = false;   ///< a cuDNN that is missing, without asking
  bool resume = false;  ///< with what an interrupted run with the same `output` had found
};

/// The options that these commands share. `default_target` says what is asked without --target.
void add_ask_options(CLI::App& command, AskOptions& options, const std::string& default_target);

/// The targets of --target; without it this machine's GPUs, else `otherwise` (a selection of simulated ones).
std::vector<gpu::Target> choose_targets(const AskOptions& options, const std::string& otherwise);

/// Throws Error(usage) where two reports would be one file, or one would replace an input, before any is opened.
void check_outputs(const AskOptions& options);

/// Of a comma list of modes. Throws Error(usage) for what is not one.
void read_modes(const std::string& list, probe::WalkOptions& walk);

/// --mode, --engines, --plans, --sweep and --quick, --timeout, --jobs; and what running plans takes. Plans are
/// automatic by default; whether it sweeps is what `campaign` says.
void add_walk_options(CLI::App& command, std::string& modes, campaign::PlanOptions& campaign);
void add_run_options(CLI::App& command, run::RunOptions& run_options);

/// --framework: words for rules::choose_gates().
void add_framework_option(CLI::App& command, std::vector<std::string>& words);

/// A warning on standard error: what the lib rooms tell of what they pass over.
void warn(const std::string& problem);

/// From here on the first Ctrl-C or SIGTERM sets what is returned,
/// so that what is under way ends and is written; the second kills.
const std::atomic<bool>* stop_gently();
/// Whether such a signal came: what fails after it fails because of it.
bool was_stopped();

/// The version that graphs are built for: that of the cuDNN that would be asked, with a warning where none can be.
CudnnVersion version_for_graphs(const AskOptions& options);

/// What is to be asked, and what the command says beside the results.
struct Work {
  std::vector<campaign::QuestionGroup> groups;
  /// More keys of a JSON report.
  std::function<void(Json& report, const report::Results& results)> add_to_json;
  /// Text before and after the results.
  std::function<std::string(const report::Results&results, const report::TextStyle&style)> before, after;
  /// The gravest of this and the results' own counts.
  std::function<int(const report::Results& results)> exit_code;
};

/// Asks, reports and gives the exit code. Precondition: check_outputs(). Report files are opened before `plan` is called, and `plan` before anything
/// is asked of cuDNN, so that bad paths and bad input are said first.
int ask(AskOptions options, const std::function<Work(const AskOptions& options)>& plan);

/// An option whose words are an enum's names.
template <class E>
CLI::Option* add_enum_option(CLI::App& command, const std::string& name, E& value, const std::string& help) {
  const auto set = [&value](const std::string& word) { value = parse_enum<E>(word).value(); };
  return command.add_option_function<std::string>(name, set, help)->check(CLI::IsMember(names_of<E>()));
}

/// How to print on this terminal.
report::TextStyle terminal_style(bool verbose);

struct NamedGraph {
  std::string name, description;
  graph::OpGraph graph;
};

/// What --dump-graph writes, as write_data does: `form` "dot", or "json", one object where there is one graph.
void write_graphs(const std::string& file, const std::string& form, const std::vector<NamedGraph>& graphs);

}  // namespace attnprobe::app
