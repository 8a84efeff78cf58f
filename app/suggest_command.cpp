// attnprobe suggest: the smallest changes that make an unsupported config supported.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ask.hpp"
#include "attention/fields.hpp"
#include "base/error.hpp"
#include "base/output_file.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "campaign/suggest/ways_out.hpp"
#include "commands.hpp"
#include "config_options.hpp"
#include "exit_code.hpp"
#include "gpu/catalogue.hpp"
#include "option_checks.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "report/formats/notes.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::app {
namespace {

using campaign::Result;
using campaign::Usable;

struct SuggestCommand {
  ConfigOptions configs;
  AskOptions ask;
  std::vector<std::string> keep;
  campaign::SuggestOptions suggest;
};

// Other GPUs on which the same config is a yes, by id.
std::vector<std::string> other_gpus(const Result& refused, campaign::CampaignOptions options) {
  options.walk.sweep_where_none = false;
  options.walk.plans = probe::Plans::none;
  options.cudnn = refused.cudnn_path;
  std::vector<std::string> ids;
  for (const auto& other : run_campaign({refused}, gpu::simulated_targets("representative"), options).results)
    if (other.usable == Usable::yes && other.target.id != refused.target.id) ids.push_back(other.target.id);
  return ids;
}

struct Suggested {
  const Result* result;
  std::vector<std::string> gpus;
};

bool is_helped(const Suggested& suggested) {
  return suggested.result->usable == Usable::yes || !suggested.result->ways_out.empty();
}

std::string answer_text(const Result& result) {
  const std::string why = result.root_cause
                              ? fmt::format("{}: {}", name_of(result.root_cause->category), short_reason(result))
                          : result.but.empty() ? ""
                                               : report::obstacles_summary(result);
  return fmt::format("{}{}{}", answer_word(result), why.empty() ? "" : ", ", why);
}

std::string text_of(const std::vector<Suggested>& all, size_t width) {
  std::string out;
  for (const auto& [result, gpus] : all) {
    const auto& spec = result->config.spec;
    out += fmt::format("{} on {}, cuDNN {}\n", describe(spec), result->target.id, result->cudnn_version.text());
    out += report::wrapped(answer_text(*result), 2, width);
    size_t number = 0;
    for (const auto& way : result->ways_out) {
      std::string text =
          report::wrapped(fmt::format("{}{}", text_of(way), way.compiled ? " (compiled)" : ""), 5, width);
      const std::string mark = std::to_string(++number);
      text.replace(3 - std::min<size_t>(2, mark.size()), mark.size(), mark);
      out += text + "       " + way.reproduce + "\n";
    }
    if (result->usable != Usable::yes && result->ways_out.empty())
      out += result->ways_out_unasked > 0 ? fmt::format("  no change was found; {} more were not tried: --most-asked\n",
                                                        result->ways_out_unasked)
                                          : "  no change of the config was found, one or two at a time\n";
    if (result->root_cause)
      for (const auto& advice : result->root_cause->advice)
        if (advice.starts_with("cuDNN ")) out += fmt::format("   - {}\n", advice.substr(0, advice.find('\n')));
    if (!gpus.empty()) out += fmt::format("   - the same config is a yes on {}\n", fmt::join(gpus, ", "));
    out += "\n";
  }
  out.pop_back();
  return printable(out);
}

Json json_of(const std::vector<Suggested>& all) {
  Json results = Json::array();
  for (const auto& [result, gpus] : all) {
    Json json = report::to_json(*result);
    Json one;
    for (const char* key : {"config", "target", "cudnn", "verdict", "usable", "but", "root_cause", "ways_out"})
      if (json.contains(key)) one[key] = json[key];
    if (!one.contains("ways_out")) one["ways_out"] = Json::array();
    one["gpus"] = gpus;
    one["not_tried"] = result->ways_out_unasked;
    results.push_back(std::move(one));
  }
  return {{"schema", "attnprobe/suggest/1"}, {"tool", report::tool_version()}, {"results", std::move(results)}};
}

// What -o gets: of each result the config of its first way out, or its own where that is a yes.
std::string configs_text(const std::vector<Suggested>& all) {
  Json configs = Json::array();
  for (const auto& [result, gpus] : all) {
    if (result->usable != Usable::yes && result->ways_out.empty()) continue;
    Json config = to_json(result->ways_out.empty() ? result->config.spec : result->ways_out.front().spec);
    if (all.size() > 1) config["name"] = fmt::format("{} on {}", result->config.spec.name, result->target.id);
    configs.push_back(std::move(config));
  }
  return json_text(configs.size() == 1 ? configs[0] : configs, 2) + "\n";
}

int suggest(SuggestCommand command) {
  AskOptions& options = command.ask;
  for (const auto& file : command.configs.files) options.inputs.push_back({"--config " + file, file});
  check_outputs(options);
  const auto kinds = campaign::change_kinds();
  for (const auto& list : command.keep)
    for (const auto& kind : split(list, ',')) {
      if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
        throw Error(ErrorKind::usage, fmt::format("--keep: \"{}\" is not something that is changed{}; allowed: {}",
                                                  kind, did_you_mean(kind, kinds), quoted_list(kinds)));
      command.suggest.keep.insert(kind);
    }
  read_modes(options.modes, options.campaign.walk);
  options.campaign.frameworks = rules::choose_gates(options.frameworks, "--framework");
  const auto questions = campaign::questions_of(read_configs(command.configs, "suggest for what?"));
  const campaign::QuestionGroup group{questions, choose_targets(options, "representative")};
  std::unique_ptr<OutputFile> file;
  if (!options.output.empty()) file = std::make_unique<OutputFile>(options.output);
  options.campaign.stop = stop_gently();
  Progress progress(campaign::cells_of({group}));
  const auto on_result = [&](const Result& result, size_t) { progress.add(result); };
  campaign::InquiryOptions inquiry{options.cudnn, options.campaign, nullptr, on_result, warn};
  inquiry.suggest = command.suggest;
  inquiry.other_versions = command.suggest.keep.count("cudnn") == 0;
  const auto campaigns = campaign::inquire({group}, inquiry);
  progress.end();
  if (*options.campaign.stop) return interrupted;
  std::vector<Suggested> all;
  for (const auto& result : campaigns.front().results) {
    const bool asks_others =
        result.usable && *result.usable != Usable::yes && command.suggest.keep.count("target") == 0 && !result.by_rule;
    all.push_back({&result, asks_others ? other_gpus(result, options.campaign) : std::vector<std::string>()});
  }
  if (file) file->replace(configs_text(all));
  if (options.format == "json")
    print_data(json_text(json_of(all), 2) + "\n");
  else
    print_text(text_of(all, terminal_style(false).width));
  const bool is_broken =
      std::any_of(all.begin(), all.end(), [](const auto& one) { return one.result->environment_broken; });
  if (is_broken) return environment_lacks;
  return std::all_of(all.begin(), all.end(), is_helped) ? all_met : not_met;
}

}  // namespace

void add_suggest(CLI::App& app, Run& run) {
  auto options = std::make_shared<SuggestCommand>();
  options->suggest.most = 5;
  auto* command = app.add_subcommand("suggest", "The smallest changes, each tried, after which a config works");
  add_config_options(*command, options->configs);
  add_framework_option(*command, options->ask.frameworks);
  command
      ->add_option(
          "--keep", options->keep,
          fmt::format("what is not to be changed, comma list of {}", fmt::join(campaign::change_kinds(), ", ")))
      ->allow_extra_args(false)
      ->group("What is asked");
  command->add_option("--most", options->suggest.most, "ways for one config on one GPU; default: 5")
      ->check(CLI::Range(1, 100))
      ->group("What is asked");
  command->add_option("--most-asked", options->suggest.most_asked, "questions for one config on one GPU; default: 160")
      ->check(CLI::Range(1, 100'000))
      ->group("How far");
  command
      ->add_option("--target", options->ask.target,
                   "as in probe; default: this machine's GPUs, else the representative ones")
      ->group("Where");
  command->add_option("--cudnn", options->ask.cudnn, "libcudnn.so.9, a folder that holds it, or a version (9.14)")
      ->group("Where");
  command->add_option("--jobs", options->ask.campaign.jobs, "worker processes; default: the cores of the machine")
      ->check(check_jobs)
      ->group("How far");
  command->add_option("--timeout", options->ask.campaign.timeout_seconds, "seconds for one config on one GPU")
      ->check(check_seconds)
      ->group("How far");
  command->add_option("--format", options->ask.format, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->group("Output");
  command->add_option("-o,--output", options->ask.output, "file for the config that works; several: an array of them")
      ->group("Output");
  command->callback([options, &run] { run = [options] { return suggest(*options); }; });
}

}  // namespace attnprobe::app
