#include "ask.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "output.hpp"
#include "report/formats/explain_text.hpp"

namespace attnprobe::app {
namespace {

struct ExplainOptions {
  std::string file, output, format = "table";
  bool verbose = false;
};

int explain(const ExplainOptions& options) {
  check_outputs({{"--output " + options.output, options.output}}, {{"LOG", options.file}});
  const replay::Replay replay = replay::read_replay(options.file);
  if (replay.graphs.empty() && replay.history.exceptions.empty())
    throw Error(ErrorKind::usage, replay::why_no_graph(replay));
  if (options.format == "json")
    write_data(options.output, json_text(report::explain_json(replay), 2) + "\n");
  else
    write_text(options.output, report::explain_text(replay, terminal_style(options.verbose)));
  return all_met;
}

}  // namespace

void add_explain(CLI::App& app, Run& run) {
  auto options = std::make_shared<ExplainOptions>();
  auto* command = app.add_subcommand(
      "explain", "Why cuDNN refused a graph, from a log or an exception's text alone; needs no cuDNN");
  command
      ->add_option("LOG", options->file,
                   "a cuDNN log (plain, gzip or xz) of any level, or the lines that a program printed; - is standard "
                   "input")
      ->required();
  command->add_option("--format", options->format, "table or json")->check(CLI::IsMember({"table", "json"}));
  command->add_option("-o,--output", options->output, "file for it; default: standard output");
  command->add_flag("-v,--verbose", options->verbose, "reasons of graphs that work, too");
  command->callback([options, &run] { run = [options] { return explain(*options); }; });
}

}  // namespace attnprobe::app
