// attnprobe limits: where support begins and ends.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ask.hpp"
#include "ask/named_targets.hpp"
#include "asked_libraries.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "bring_cudnn.hpp"
#include "commands.hpp"
#include "config_options.hpp"
#include "exit_code.hpp"
#include "option_checks.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "studies/limits/limits_text.hpp"
#include "studies/limits/question_words.hpp"

namespace attnprobe::app {
namespace {

struct LimitsOptions {
  std::vector<std::string> fields, vary, frameworks;
  ConfigOptions configs;
  std::string target = "representative", cudnn, modes = "A,B,FALLBACK", output, format = "table";
  limits::Shown shown = limits::Shown::answer;
  bool is_shown_given = false;
  bool no_cache = false, fetch = false;
  asking::PlanOptions how;
  asking::Session session;
};

limits::QuestionWords words_of(const LimitsOptions& options) {
  const bool times = options.shown == limits::Shown::time;
  // On a page, the reader chooses the colours.
  const bool shows_all = options.format == "html" && (times || !options.is_shown_given);
  limits::QuestionWords words{.fields = options.fields,
                              .vary = options.vary,
                              .overrides = options.configs.overrides,
                              .configs = {},
                              .shown = shows_all ? limits::Shown::all : options.shown,
                              .times = times};
  if (!options.configs.files.empty()) words.configs = read_configs(options.configs, "limits of what?");
  return words;
}

std::string rendered(const LimitsOptions& options, const limits::Question& question, const limits::Limits& limits,
                     bool is_map, const std::string& command) {
  if (options.format == "json") return json_text(limits::limits_json(question, limits, command), 2) + "\n";
  if (options.format == "svg") return limits::map_svg(question, limits);
  if (options.format == "html") return limits::map_html(question, limits, command);
  const report::TextStyle style = options.output.empty() ? terminal_style(false) : report::TextStyle();
  return is_map ? limits::map_text(question, limits, style) : limits::limits_text(question, limits, style);
}

int find_limits(LimitsOptions options) {
  std::vector<NamedFile> inputs;
  for (const auto& file : options.configs.files) inputs.push_back({"--config " + file, file});
  check_outputs({{"--output " + options.output, options.output}}, inputs);
  read_modes(options.modes, options.how.walk);
  options.how.frameworks = rules::choose_gates(options.frameworks, "--framework");
  const bool is_map = limits::read_axes(options.fields, "limits").size() == 2;
  limits::QuestionWords words = words_of(options);
  words.frameworks = options.how.frameworks;
  limits::Question question = limits::read_question(words);
  question.targets = asking::named_targets(options.target, options.how.timeout_seconds);
  const std::string command =
      limits::command_text(words, {.files = options.configs.files,
                                   .target = options.target,
                                   .cudnn = options.cudnn,
                                   .frameworks = fmt::format("{}", fmt::join(options.frameworks, ","))});
  if ((options.format == "svg" || options.format == "html") && !is_map)
    throw Error(ErrorKind::usage,
                fmt::format("--format {} draws a map, of two fields: head_dim,seqlen_kv", options.format));
  std::unique_ptr<OutputFile> file;
  if (!options.output.empty()) file = std::make_unique<OutputFile>(options.output);
  options.session.stop = stop_gently();
  const auto versions = options.cudnn.empty() ? std::vector<std::string>() : split(options.cudnn, ',');
  const AskedLibraries asked =
      ask_libraries(versions, question.targets, {options.no_cache, options.fetch}, options.how, options.session);
  question.cudnns = asked.libraries;
  Progress progress(0);
  const limits::Limits found =
      limits::find_limits(question, options.how, options.session, [&](const auto& result) { progress.add(result); });
  progress.end();
  if (found.stopped) return interrupted;
  const std::string text = rendered(options, question, found, is_map, command);
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
  auto* command =
      app.add_subcommand("limits", "Find where support begins and ends along a field; with two fields, draw a map");
  command
      ->add_option(
          "FIELD", options->fields,
          "a field such as head_dim, optionally with values: head_dim=8:512:8. Two fields give a map. Also allowed: window, window_right, page_size, token_gap")
      ->required()
      ->group("What is asked");
  command
      ->add_option(
          "--vary", options->vary,
          "fields to combine, one row per combination: mask,pass or mask=none,causal,pass=fprop,bprop. A field without values uses all of its values")
      ->allow_extra_args(false)
      ->group("What is asked");
  add_config_options(*command, options->configs);
  add_framework_option(*command, options->frameworks);
  command->add_option("-t,--target", options->target, "as in probe; default: representative")->group("Where");
  command
      ->add_option("--cudnn", options->cudnn,
                   "comma-separated versions or paths, or all; default: the one that probe uses")
      ->group("Where");
  command->add_option("--mode", options->modes, "heuristic modes, comma-separated list of A, B, FALLBACK")
      ->group("How far");
  command->add_option("-j,--jobs", options->how.jobs, "worker processes; default: the cores of the machine")
      ->check(check_jobs)
      ->group("How far");
  command->add_option("--timeout", options->how.timeout_seconds, "seconds for one config on one GPU")
      ->check(check_seconds)
      ->group("How far");
  add_fetch_option(*command, options->fetch);
  command->add_flag("--no-cache", options->no_cache, "ask cuDNN about every cell; do not use the cache")
      ->group("How far");
  auto* by = add_enum_option(
      *command, "--by", options->shown,
      "start a new range when this changes: answer, engine (of the first choice), category (of the reason) or all. `time`: run each point of a map and colour it by the first choice's time. Default: answer; for html: all");
  by->group("Output");
  command->add_option("-f,--format", options->format, "table or json; for a map also svg or html")
      ->transform(one_of({"table", "json", "svg", "html"}))
      ->group("Output");
  command->add_option("-o,--output", options->output, "output file; default: standard output")->group("Output");
  command->callback([options, by, &run] {
    options->is_shown_given = by->count() > 0;
    run = [options] { return find_limits(*options); };
  });
}

}  // namespace attnprobe::app
