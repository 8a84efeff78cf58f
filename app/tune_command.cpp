// attnprobe tune: the fastest engine config of each problem, with its evidence.
#include <fmt/format.h>

#include "ask.hpp"
#include "ask/named_targets.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "config_options.hpp"
#include "exit_code.hpp"
#include "option_checks.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "report/model/choices.hpp"

namespace attnprobe::app {
namespace {

struct TuneOptions {
  ConfigOptions configs;
  AskOptions ask;
};

int tune(TuneOptions options) {
  AskOptions& ask = options.ask;
  for (const auto& file : options.configs.files) ask.inputs.push_back({"--config " + file, file});
  check_outputs(ask);
  read_modes(ask.modes, ask.how.walk);
  const auto questions = asking::questions_of(read_configs(options.configs, "tune what?"));
  const asking::QuestionGroup group{questions, choose_targets(ask, "representative")};
  asking::check_can_time(group.targets, "tune --target");
  std::unique_ptr<OutputFile> file;
  if (!ask.output.empty()) file = std::make_unique<OutputFile>(ask.output);
  ask.how.walk.plans = probe::Plans::run;
  ask.how.walk.sweep_where_none = false;
  ask.session.stop = stop_gently();
  ask.session.on_problem = warn;
  Progress progress(asking::cells_of({group}));
  const auto on_result = [&](const answer::Answer& result, size_t) { progress.add(result); };
  const auto all = asking::ask({{group}, ask.cudnn, ask.how}, ask.session, on_result);
  progress.end();
  report::Results results;
  for (const auto& result : all.front().results) results.push_back(&result);
  if (file) file->replace(json_text(report::choices_json(results), 2) + "\n");
  print_text(report::choices_text(results, terminal_style(false)));
  if (*ask.session.stop) return interrupted;
  return exit_code(results);
}

}  // namespace

void add_tune(CLI::App& app, Run& run) {
  auto options = std::make_shared<TuneOptions>();
  auto* command = app.add_subcommand(
      "tune", "Find the fastest correct engine config for each problem on this machine's GPU, with measurements");
  add_config_options(*command, options->configs);
  command->add_option("-t,--target", options->ask.target, "device:0, device:all; default: this machine's GPUs")
      ->group("Where");
  command->add_option("--cudnn", options->ask.cudnn, "libcudnn.so.9, its folder, or a version (9.14)")->group("Where");
  add_walk_options(*command, options->ask.modes, options->ask.how);
  add_run_options(*command, options->ask.how.run);
  command->add_option("-o,--output", options->ask.output, "file for the chosen engine configs (JSON)")->group("Output");
  command->callback([options, &run] { run = [options] { return tune(*options); }; });
}

}  // namespace attnprobe::app
