// attnprobe limits: where support begins and ends.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "ask.hpp"
#include "attention/fields.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "campaign/named_targets.hpp"
#include "commands.hpp"
#include "config_options.hpp"
#include "exit_code.hpp"
#include "limits/find_limits.hpp"
#include "option_checks.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "report/formats/limits_text.hpp"
#include "worker/pool.hpp"

namespace attnprobe::app {
namespace {

struct LimitsOptions {
  std::vector<std::string> fields, vary, frameworks;
  ConfigOptions configs;
  std::string target = "representative", cudnn, modes = "A,B,FALLBACK", output, format = "table";
  limits::Shown shown = limits::Shown::answer;
  bool is_shown_given = false;
  bool no_cache = false;
  campaign::CampaignOptions campaign;
};

// As few options as ask the same.
std::string command_of(const LimitsOptions& options) {
  std::string command =
      fmt::format("attnprobe limits {}", shell_word(fmt::format("{}", fmt::join(options.fields, ","))));
  for (const auto& file : options.configs.files) command += " --config " + shell_word(file);
  command += field_words(options.configs);
  for (const auto& vary : options.vary) command += " --vary " + shell_word(vary);
  command += " --target " + shell_word(options.target);
  if (!options.cudnn.empty()) command += " --cudnn " + shell_word(options.cudnn);
  if (!options.frameworks.empty()) command += fmt::format(" --framework {}", fmt::join(options.frameworks, ","));
  return command;
}

// What the shape is where nobody says anything of it. Of a field that is varied or given, or a half of it, fill_in() and the reader
// see to the rest.
std::vector<std::string> assume_shape(ConfigOptions& configs, const std::vector<limits::Axis>& axes) {
  std::vector<std::string> assumed;
  if (!configs.files.empty()) return assumed;
  constexpr std::pair<const char*, int> usual[] = {{"heads", 8}, {"seqlen", 1024}, {"head_dim", 64}};
  for (const auto& [name, value] : usual) {
    const auto is_of_it = [name = std::string(name)](const std::string& field) { return field.starts_with(name); };
    if (std::none_of(axes.begin(), axes.end(), [&](const auto& axis) { return is_of_it(axis.name); }) &&
        std::none_of(configs.overrides.begin(), configs.overrides.end(),
                     [&](const auto& given) { return is_of_it(given.field); })) {
      configs.overrides.push_back({name, value});
      assumed.push_back(fmt::format("{} {}", name, value));
    }
  }
  return assumed;
}

// A map's axis: 64 numbers of the usual range, unless somebody named others.
void coarsen(limits::Axis& axis) {
  constexpr int64_t points = 64;
  constexpr size_t most = 256;
  if (axis.range && axis.range_is_usual) {
    const int64_t step = std::max<int64_t>(1, axis.range->last / points);
    axis.range = attention::Range{step, points * step, step};
    axis.range_is_usual = false;
  }
  if (count_of(axis) > most)
    throw Error(ErrorKind::usage,
                fmt::format("{} has {} values; a map has {} on a side at most: give a step, {}=8:512:8", axis.name,
                            count_of(axis), most, axis.name));
}

// The fields that take other values later on need not be given: here they have one that goes with most others.
void fill_in(ConfigOptions& configs, const std::vector<limits::Axis>& axes) {
  if (!configs.files.empty()) return;
  std::vector<attention::Override> first;
  for (const auto& axis : axes) {
    const bool is_field = std::any_of(attention::fields().begin(), attention::fields().end(),
                                      [&](const auto& field) { return field.name == axis.name; });
    const bool is_given = std::any_of(configs.overrides.begin(), configs.overrides.end(),
                                      [&](const auto& given) { return given.field == axis.name; });
    if (!is_field || is_given) continue;
    first.push_back({axis.name, axis.range ? Json(std::clamp<int64_t>(64, axis.range->first, axis.range->last))
                                           : axis.values.front()});
  }
  configs.overrides.insert(configs.overrides.begin(), first.begin(), first.end());
}

// `axes`: of the fields, one, or two for a map. The options get the shape that is assumed, for the command that asks again.
limits::Question question_of(LimitsOptions& options, std::vector<limits::Axis> axes) {
  limits::Question question;
  if (axes.empty() || axes.size() > 2)
    throw Error(ErrorKind::usage, "limits takes one field, or two for a map, as head_dim or head_dim,seqlen_kv");
  question.vary = limits::read_axes(options.vary, "--vary");
  question.axis = axes.front();
  if (axes.size() == 2) {
    for (auto& axis : axes) coarsen(axis);
    question.axis = axes[1];
    question.vary.push_back(axes[0]);
  }
  for (const auto& axis : question.vary)
    if (axis.name == question.axis.name)
      throw Error(ErrorKind::usage, fmt::format("--vary {}: it is the field whose limits are asked for", axis.name));
    else if (axis.range_is_usual)
      throw Error(ErrorKind::usage,
                  fmt::format("--vary {}: name the numbers, {}=64,128 or {}=8:64:8", axis.name, axis.name, axis.name));
  std::vector<limits::Axis> set_later = question.vary;
  set_later.push_back(question.axis);
  question.assumed = assume_shape(options.configs, set_later);
  ConfigOptions given = options.configs;
  fill_in(given, set_later);
  question.configs = read_configs(given, "limits of what?");
  // On a page a reader chooses what is coloured.
  question.times = options.shown == limits::Shown::time;
  if (question.times && axes.size() != 2)
    throw Error(ErrorKind::usage,
                "--by time colours a map, of two fields: head_dim,seqlen_kv; `attnprobe tune` times single configs");
  const bool shows_all = options.format == "html" && (question.times || !options.is_shown_given);
  question.shown = shows_all ? limits::Shown::all : options.shown;
  question.targets = campaign::named_targets(options.target, options.campaign.timeout_seconds);
  return question;
}

std::string rendered(const LimitsOptions& options, const limits::Question& question, const limits::Limits& limits,
                     bool is_map) {
  if (options.format == "json") return json_text(report::limits_json(question, limits, command_of(options)), 2) + "\n";
  if (options.format == "svg") return report::map_svg(question, limits);
  if (options.format == "html") return report::map_html(question, limits, command_of(options));
  const report::TextStyle style = options.output.empty() ? terminal_style(false) : report::TextStyle();
  return is_map ? report::map_text(question, limits, style) : report::limits_text(question, limits, style);
}

int find_limits(LimitsOptions options) {
  std::vector<NamedFile> inputs;
  for (const auto& file : options.configs.files) inputs.push_back({"--config " + file, file});
  check_outputs({{"--output " + options.output, options.output}}, inputs);
  read_modes(options.modes, options.campaign.walk);
  options.campaign.frameworks = rules::choose_gates(options.frameworks, "--framework");
  const std::vector<limits::Axis> axes = limits::read_axes(options.fields, "limits");
  const bool is_map = axes.size() == 2;
  limits::Question question = question_of(options, axes);
  if ((options.format == "svg" || options.format == "html") && !is_map)
    throw Error(ErrorKind::usage,
                fmt::format("--format {} draws a map, of two fields: head_dim,seqlen_kv", options.format));
  std::unique_ptr<OutputFile> file;
  if (!options.output.empty()) file = std::make_unique<OutputFile>(options.output);
  const auto cache = options.no_cache ? nullptr : campaign::usual_cache(warn);
  options.campaign.cache = cache.get();
  worker::Pool pool(
      2 * campaign::jobs_of(options.campaign));  // the worker that says what a cuDNN is goes on with the questions
  options.campaign.pool = &pool;
  options.campaign.stop = stop_gently();
  question.cudnns =
      campaign::choose_libraries(options.cudnn.empty() ? std::vector<std::string>{""} : split(options.cudnn, ','),
                                 question.targets, options.campaign, warn);
  Progress progress(0);
  const limits::Limits found =
      limits::find_limits(question, options.campaign, [&](const auto& result) { progress.add(result); });
  progress.end();
  if (found.stopped) return interrupted;
  const std::string text = rendered(options, question, found, is_map);
  if (file)
    file->replace(text);
  else if (options.format == "table")
    print_text(text);
  else
    print_data(text);
  return all_met;
}

}  // namespace

void add_limits(CLI::App& app, Run& run) {
  auto options = std::make_shared<LimitsOptions>();
  auto* command = app.add_subcommand("limits", "Where support begins and ends along a field; with two fields, a map");
  command
      ->add_option(
          "FIELD", options->fields,
          "head_dim, or with the numbers to look at, head_dim=8:512:8; two of them are a map. Besides fields of a config: window, "
          "window_right, page_size, token_gap")
      ->required()
      ->group("What is asked");
  command
      ->add_option(
          "--vary", options->vary,
          "fields of which each combination is a row: mask,pass or mask=none,causal,pass=fprop,bprop; words without values have all "
          "of theirs")
      ->allow_extra_args(false)
      ->group("What is asked");
  add_config_options(*command, options->configs);
  add_framework_option(*command, options->frameworks);
  command->add_option("--target", options->target, "as in probe; default: representative")->group("Where");
  command->add_option("--cudnn", options->cudnn, "versions or paths, a comma list, or all; default: the one at hand")
      ->group("Where");
  command->add_option("--mode", options->modes, "heuristic modes, comma list of A, B, FALLBACK")->group("How far");
  command->add_option("--jobs", options->campaign.jobs, "worker processes; default: the cores of the machine")
      ->check(check_jobs)
      ->group("How far");
  command->add_option("--timeout", options->campaign.timeout_seconds, "seconds for one config on one GPU")
      ->check(check_seconds)
      ->group("How far");
  command->add_flag("--no-cache", options->no_cache, "ask cuDNN for every cell, and keep nothing")->group("How far");
  auto* by = add_enum_option(
      *command, "--by", options->shown,
      "what makes a run: answer; engine: of the first choice too; category: of the reason too; all of them; time: of a map, each "
      "point is run on this machine's GPU and drawn by the time of its first choice; default: answer, and all for html");
  by->group("Output");
  command->add_option("--format", options->format, "table, json, and for a map svg or html")
      ->check(CLI::IsMember({"table", "json", "svg", "html"}))
      ->group("Output");
  command->add_option("-o,--output", options->output, "file for it; default: standard output")->group("Output");
  command->callback([options, by, &run] {
    options->is_shown_given = by->count() > 0;
    run = [options] { return find_limits(*options); };
  });
}

}  // namespace attnprobe::app
