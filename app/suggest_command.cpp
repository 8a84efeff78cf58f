// attnprobe suggest: the smallest changes that make an unsupported config supported.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ask.hpp"
#include "ask/further/changes.hpp"
#include "attention/fields.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "config_options.hpp"
#include "exit_code.hpp"
#include "option_checks.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "studies/suggest/suggest_text.hpp"
#include "studies/suggest/suggested.hpp"

namespace attnprobe::app {
namespace {

using answer::Answer;
using answer::Usable;
using studies::Suggested;

struct SuggestCommand {
  ConfigOptions configs;
  AskOptions ask;
  std::vector<std::string> keep;
  asking::SuggestOptions suggest;
};

// Other head dimensions help a model's designer, not a program that runs an existing model.
bool is_helped(const Answer& result) {
  return result.usable == Usable::yes || !std::ranges::all_of(result.ways_out, answer::is_other_model);
}

// The output of -o: for each result, the config of its first way out, or its own config if the answer is yes.
std::string configs_text(const std::vector<Suggested>& all) {
  Json configs = Json::array();
  for (const auto& suggested : all) {
    const Answer& result = suggested.result;
    if (!is_helped(result)) continue;
    Json config = to_json(result.usable == Usable::yes ? result.config.spec : result.ways_out.front().spec);
    if (all.size() > 1) config["name"] = fmt::format("{} on {}", result.config.spec.name, result.target.id);
    configs.push_back(std::move(config));
  }
  return json_text(configs.size() == 1 ? configs[0] : configs, 2) + "\n";
}

int suggest(SuggestCommand command) {
  AskOptions& options = command.ask;
  for (const auto& file : command.configs.files) options.inputs.push_back({"--config " + file, file});
  check_outputs(options);
  command.suggest.keep = studies::read_kept(command.keep, "--keep");
  read_modes(options.modes, options.how.walk);
  options.how.frameworks = rules::choose_gates(options.frameworks, "--framework");
  const auto questions = asking::questions_of(read_configs(command.configs, "suggest for what?"));
  const asking::QuestionGroup group{questions, choose_targets(options, "representative")};
  std::unique_ptr<OutputFile> file;
  if (!options.output.empty()) file = std::make_unique<OutputFile>(options.output);
  options.session.stop = stop_gently();
  Progress progress(asking::cells_of({group}));
  const auto on_result = [&](const Answer& result, size_t) { progress.add(result); };
  options.session.on_problem = warn;
  asking::Plan plan{{group}, options.cudnn, options.how};
  plan.suggest = command.suggest;
  const auto all = studies::suggest(plan, options.session, on_result);
  progress.end();
  if (*options.session.stop) return interrupted;
  if (file) file->replace(configs_text(all));
  if (options.format == "json")
    print_data(json_text(studies::suggest_json(all), 2) + "\n");
  else
    print_text(studies::suggest_text(all, terminal_style(false).width));
  const bool is_broken =
      std::any_of(all.begin(), all.end(), [](const auto& one) { return one.result.environment_broken; });
  if (is_broken) return environment_lacks;
  return std::ranges::all_of(all, is_helped, &Suggested::result) ? all_met : not_met;
}

}  // namespace

void add_suggest(CLI::App& app, Run& run) {
  auto options = std::make_shared<SuggestCommand>();
  auto* command = app.add_subcommand("suggest", "Find the smallest changes that make a config work, and try each");
  add_config_options(*command, options->configs);
  add_framework_option(*command, options->ask.frameworks);
  command
      ->add_option("--keep", options->keep,
                   fmt::format("parts of the config to keep; comma-separated list of {}",
                               fmt::join(asking::change_kinds(), ", ")))
      ->allow_extra_args(false)
      ->group("What is asked");
  command->add_option("--most", options->suggest.most, "changes per config and GPU; default: 3")
      ->check(CLI::Range(1, 100))
      ->group("What is asked");
  command->add_option("--most-asked", options->suggest.most_asked, "questions per config and GPU; default: 400")
      ->check(CLI::Range(1, 100'000))
      ->group("How far");
  command
      ->add_option("-t,--target", options->ask.target,
                   "as in probe; default: this machine's GPUs, otherwise the representative ones")
      ->group("Where");
  command->add_option("--cudnn", options->ask.cudnn, "libcudnn.so.9, its folder, or a version (9.14)")->group("Where");
  command->add_option("-j,--jobs", options->ask.how.jobs, "worker processes; default: the cores of the machine")
      ->check(check_jobs)
      ->group("How far");
  command->add_option("--timeout", options->ask.how.timeout_seconds, "seconds for one config on one GPU")
      ->check(check_seconds)
      ->group("How far");
  command->add_option("-f,--format", options->ask.format, "table or json")
      ->transform(one_of({"table", "json"}))
      ->group("Output");
  command
      ->add_option("-o,--output", options->ask.output, "file for the config that works; for several configs, an array")
      ->group("Output");
  command->callback([options, &run] { run = [options] { return suggest(*options); }; });
}

}  // namespace attnprobe::app
