// attnprobe reduce: the smallest config that still fails in the same way.
#include "studies/reduce/reduce.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ask.hpp"
#include "ask/named_targets.hpp"
#include "attention/fields.hpp"
#include "base/error.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "config_options.hpp"
#include "cudnn/library_info.hpp"
#include "exit_code.hpp"
#include "output.hpp"
#include "replay/replay.hpp"
#include "worker/pool.hpp"

namespace attnprobe::app {
namespace {

struct ReduceOptions {
  ConfigOptions configs;
  std::string log, target = "h100", cudnn, output, modes = "A,B,FALLBACK";
  size_t graph = 1;
  asking::PlanOptions how;
};

// Reads a config document with one config, or a graph that a config builds.
attention::AttentionSpec spec_of(const ReduceOptions& options) {
  if (options.configs.given() == !options.log.empty())
    throw Error(ErrorKind::usage,
                "nothing to reduce; allowed: --config FILE with one config, its fields as options, or --log FILE");
  if (options.configs.given()) {
    const auto configs = read_configs(options.configs, "nothing to reduce");
    if (configs.size() == 1) return configs.front().spec;
    throw Error(ErrorKind::usage, fmt::format("{} configs; allowed: one", configs.size()));
  }
  const replay::Replay replay = replay::read_replay(options.log);
  replay::require_graphs(replay);
  if (options.graph == 0 || options.graph > replay.graphs.size())
    throw Error(ErrorKind::usage, fmt::format("--graph: \"{}\" is not a graph of this file; allowed: 1 to {}",
                                              options.graph, replay.graphs.size()));
  const auto& recognised = replay.graphs[options.graph - 1].recognised;
  if (!recognised.exact || !recognised.spec)
    throw Error(ErrorKind::usage,
                fmt::format("{}: graph {} cannot be expressed as a config, so it cannot be reduced: {}", options.log,
                            options.graph, recognised.description));
  return *recognised.spec;
}

gpu::Target target_of(const ReduceOptions& options) {
  const auto targets = asking::named_targets(options.target, options.how.timeout_seconds);
  if (targets.size() == 1) return targets.front();
  throw Error(ErrorKind::usage,
              fmt::format("--target {}: these are {} GPUs; allowed: one", options.target, targets.size()));
}

std::string trials_text(const reduce::Reduced& reduced) {
  std::string text;
  for (const auto& trial : reduced.trials)
    text +=
        fmt::format("  {} {}{}{}\n", trial.kept ? "same " : "other", trial.what, trial.kept ? "" : ": ", trial.answer);
  return text;
}

int run_reduce(ReduceOptions options) {
  std::vector<NamedFile> inputs{{"--log " + options.log, options.log}};
  for (const auto& file : options.configs.files) inputs.push_back({"--config " + file, file});
  check_outputs({{"--output " + options.output, options.output}}, inputs);
  read_modes(options.modes, options.how.walk);
  const attention::AttentionSpec begun = spec_of(options);
  const gpu::Target target = target_of(options);
  worker::Pool pool(2);
  const asking::Session session{.pool = &pool};
  const std::string cudnn = cudnn::choose_library(options.cudnn).path;
  const auto answer = [&](const attention::AttentionSpec& spec) {
    attention::AttentionConfig config;
    config.spec = spec;
    return asking::ask({.groups = {{asking::questions_of({config}), {target}, {cudnn}}},
                        .options = options.how,
                        .further = asking::Further::nothing},
                       session)
        .front()
        .results.at(0);
  };
  reduce::Reduced reduced = reduce::reduce(begun, [&](const auto& spec) { return reduce::failure_of(answer(spec)); });
  const auto kept =
      std::count_if(reduced.trials.begin(), reduced.trials.end(), [](const auto& trial) { return trial.kept; });
  print_text(fmt::format("{}\n\n{} tried, {} kept:\n{}\nwas: {}\nis:  {}\n{}\n", text_of(reduced.failure),
                         counted(static_cast<int64_t>(reduced.trials.size()), "change"), kept, trials_text(reduced),
                         describe(begun), describe(reduced.spec), answer(reduced.spec).reproduce));
  if (!reduced.ended) warn("stopped at the limit of trials; a smaller config may exist");
  if (options.output.empty()) return all_met;
  reduced.spec.expect = {};
  write_data(options.output, json_text(to_json(reduced.spec), 2) + "\n");
  return all_met;
}

}  // namespace

void add_reduce(CLI::App& app, Run& run) {
  auto options = std::make_shared<ReduceOptions>();
  auto* command = app.add_subcommand(
      "reduce", "Find the smallest config that fails in the same way: same reason, crash or wrong result");
  add_config_options(*command, options->configs);
  auto* log = command->add_option("--log", options->log, "any input of `attnprobe replay`")->group("What is asked");
  command->add_option("--graph", options->graph, "number of the graph in --log; default: 1")
      ->needs(log)
      ->group("What is asked");
  command->add_option("-t,--target", options->target, "one GPU, as in probe; default: h100")->group("Where");
  command->add_option("--cudnn", options->cudnn, "libcudnn.so.9, its folder, or a version (9.14)")->group("Where");
  options->how.walk.sweep_where_none = false;
  add_walk_options(*command, options->modes, options->how);
  command->add_option("-o,--output", options->output, "output file for the reduced config")->group("Output");
  command->footer(
      "Exit codes: 0 reduced, 2 bad command line or config, or a config that does not fail, 3 environment problem.");
  command->callback([options, &run] { run = [options] { return run_reduce(*options); }; });
}

}  // namespace attnprobe::app
