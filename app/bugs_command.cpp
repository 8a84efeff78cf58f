// attnprobe bugs: the known bugs of cuDNN's attention, what they affect, and their experiments, which can be run again.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>

#include "ask.hpp"
#include "ask/chosen_libraries.hpp"
#include "ask/named_targets.hpp"
#include "base/error.hpp"
#include "base/input.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "config_options.hpp"
#include "exit_code.hpp"
#include "gpu/catalogue.hpp"
#include "option_checks.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "studies/bugs/bugs_text.hpp"
#include "studies/bugs/concerning_bugs.hpp"
#include "worker/client.hpp"

namespace attnprobe::app {
namespace {

using rules::KnownBugRule;

struct BugsOptions {
  std::vector<std::string> ids, frameworks;
  std::string target, cudnn, format = "table", output, record;
  AskOptions ask;
};

void write(const BugsOptions& options, const std::string& text, const Json& json) {
  if (options.format == "json")
    write_data(options.output, json_text(json, 2) + "\n");
  else
    write_text(options.output, text);
}

// ---- the experiments

struct Experiment {
  const KnownBugRule* bug;
  answer::Question question;
  run::DataRegime data = run::DataRegime::normal;
};

// An experiment consists of command-line words; the target where it was measured is ignored.
Experiment experiment_of(const KnownBugRule& bug) {
  Experiment experiment{&bug, {}, {}};
  CLI::App words;
  ConfigOptions fields;
  std::string passed_over;
  add_field_options(words, fields);
  add_enum_option(words, "--data", experiment.data, "");
  for (const char* option : {"--target", "--cudnn", "--plans"}) words.add_option(option, passed_over);
  try {
    words.parse(bug.experiment);
  } catch (const CLI::ParseError& e) {
    throw Error(ErrorKind::internal,
                fmt::format("known_bugs.json, {}: its experiment \"{}\": {}", bug.entry.id, bug.experiment, e.what()));
  }
  experiment.question.config = read_configs(fields, "an experiment").front();
  experiment.question.config.spec.name = bug.entry.id;
  return experiment;
}

// All experiments for the GPU, with any version, to find where else a bug occurs or is fixed.
std::vector<Experiment> experiments_for(const gpu::Target& target, const std::vector<std::string>& ids) {
  std::vector<Experiment> experiments;
  for (const auto* bug : studies::named_bugs(ids))
    if (!bug->experiment.empty() && rules::may_apply(bug->when, std::nullopt, target.sm))
      experiments.push_back(experiment_of(*bug));
  return experiments;
}

std::string driver_text(const std::vector<gpu::Target>& targets, double timeout_seconds) {
  const bool has_device =
      std::any_of(targets.begin(), targets.end(), [](const auto& target) { return target.kind == gpu::Kind::device; });
  if (!has_device) return "";
  worker::Client client{worker::Client::Seconds(timeout_seconds)};
  const int version = client.inspect_driver().version;
  return fmt::format("{}.{}", version / 1000, version / 10 % 100);
}

std::string today() {
  return fmt::format("{:%Y-%m-%d}", std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
}

void record(const std::string& file, const std::vector<studies::BugExperiment>& experiments) {
  std::vector<rules::BugSighting> before, seen;
  if (std::filesystem::exists(file)) before = rules::parse_sightings(input_text(file), file);
  for (const auto& experiment : experiments) seen.push_back(experiment.sighting);
  OutputFile(file).replace(rules::sightings_text(rules::merged(std::move(before), seen)));
}

// ---- the list

// A file or environment means the frameworks and the cuDNN that it pins.
studies::BugWords words_of(const BugsOptions& options) {
  studies::BugWords words{.ids = options.ids, .cudnns = {}, .frameworks = {}, .targets = {}};
  if (!options.cudnn.empty()) words.cudnns = split(options.cudnn, ',');
  for (const auto& word : options.frameworks) {
    if (!std::filesystem::exists(word)) {
      words.frameworks.push_back(word);
      continue;
    }
    const auto pinned = studies::pinned_words(word);
    words.frameworks.insert(words.frameworks.end(), pinned.frameworks.begin(), pinned.frameworks.end());
    if (options.cudnn.empty() && !pinned.cudnn.empty()) words.cudnns.push_back(pinned.cudnn);
  }
  if (!options.target.empty()) words.targets = asking::named_targets(options.target, options.ask.how.timeout_seconds);
  return words;
}

// Compute capabilities on which a bug may occur: those of the targets, otherwise of every known GPU.
std::set<int> capabilities_of(const studies::BugWords& words) {
  std::set<int> found;
  for (const auto& target : words.targets) found.insert(target.sm);
  if (found.empty())
    for (const auto& target : gpu::simulated_targets("all")) found.insert(target.sm);
  return found;
}

// Frameworks that pass the bug's experiment to cuDNN on an affected GPU and version.
std::vector<studies::Reach> reach_of(const KnownBugRule& bug, const studies::BugWords& words,
                                     const std::vector<rules::ChosenGate>& gates) {
  const auto spec = experiment_of(bug).question.config.spec;
  for (const auto version : versions_of(words))
    for (const int sm : capabilities_of(words)) {
      const auto shown = rules::known_bugs(spec, version, sm);
      const auto is_it = [&](const rules::KnownBug& one) { return one.id == bug.entry.id; };
      if (std::none_of(shown.begin(), shown.end(), is_it)) continue;
      if (auto reached = studies::reach_of(spec, gates, version, sm); !reached.empty()) return reached;
    }
  return {};
}

int list_bugs(const BugsOptions& options) {
  const auto words = words_of(options);
  const auto gates = rules::choose_gates(words.frameworks, words.framework_place);
  std::vector<studies::ConcerningBug> concerning;
  for (const auto* bug : studies::bugs_concerning(words)) {
    studies::ConcerningBug one{bug};
    if (!gates.empty() && !bug->experiment.empty()) one.reached_by = reach_of(*bug, words, gates);
    if (gates.empty() || !one.reached_by.empty()) concerning.push_back(std::move(one));
  }
  report::TextStyle style = options.output.empty() ? terminal_style(false) : report::TextStyle();
  write(options, studies::bugs_text(concerning, style), studies::bugs_json(concerning));
  return options.frameworks.empty() || concerning.empty() ? all_met : not_met;
}

// ---- running them

int run_bugs(BugsOptions options) {
  std::vector<NamedFile> outputs;
  if (!options.output.empty()) outputs.push_back({"--output " + options.output, options.output});
  if (!options.record.empty()) outputs.push_back({"--record " + options.record, options.record});
  check_outputs(outputs, {});
  AskOptions& ask = options.ask;
  read_modes(ask.modes, ask.how.walk);
  ask.target = options.target;
  ask.how.walk.sweep_where_none = false;
  ask.how.run.timing = run::Timing::none;
  ask.session.stop = stop_gently();
  ask.session.on_problem = warn;
  const auto targets = choose_targets(ask, "representative");
  const std::string driver = driver_text(targets, ask.how.timeout_seconds), date = today();
  const auto libraries = asking::choose_libraries(
      options.cudnn.empty() ? std::vector<std::string>{""} : split(options.cudnn, ','), targets, ask.how, ask.session);
  std::vector<studies::BugExperiment> done;
  Progress progress(0);
  for (const auto& library : libraries)
    for (const auto& target : targets) {
      ask.how.walk.plans = target.kind == gpu::Kind::device ? probe::Plans::run : probe::Plans::build;
      std::map<run::DataRegime, std::vector<answer::Question>> questions;
      for (auto& experiment : experiments_for(target, options.ids))
        questions[experiment.data].push_back(std::move(experiment.question));
      for (const auto& [data, of_data] : questions) {
        ask.how.run.data = data;
        const asking::Plan plan{
            .groups = {{of_data, {target}, {library.path}}}, .options = ask.how, .further = asking::Further::nothing};
        const auto answers = asking::ask(plan, ask.session, [&](const auto& result, size_t) { progress.add(result); });
        for (const auto& result : answers.front().results) {
          const std::string& id = result.config.spec.name;
          const auto known = rules::known_bugs(result.config.spec, result.cudnn_version, target.sm);
          const auto sighting = studies::sighting_of(id, result, driver, date);
          done.push_back({sighting, studies::agreement_of(sighting, known), result.reproduce});
        }
      }
    }
  progress.end();
  if (!options.record.empty()) record(options.record, done);
  report::TextStyle style = options.output.empty() ? terminal_style(false) : report::TextStyle();
  write(options, studies::experiments_text(done, style), studies::experiments_json(done));
  if (*ask.session.stop) return interrupted;
  const bool contradicts = std::any_of(done.begin(), done.end(), [](const auto& experiment) {
    return experiment.agreement == studies::Agreement::not_shown ||
           experiment.agreement == studies::Agreement::also_here;
  });
  return contradicts ? not_met : all_met;
}

void add_output_options(CLI::App& command, BugsOptions& options) {
  command.add_option("-f,--format", options.format, "table or json")
      ->transform(one_of({"table", "json"}))
      ->group("Output");
  command.add_option("-o,--output", options.output, "output file; default: standard output")->group("Output");
}

}  // namespace

void add_bugs(CLI::App& app, Run& run) {
  auto options = std::make_shared<BugsOptions>();
  auto* command =
      app.add_subcommand("bugs", "Known bugs of cuDNN's attention, what they affect, and experiments that show them");
  command
      ->add_option(
          "--for", options->frameworks,
          "bugs of the cuDNN that a framework ships: torch==2.13, jax; or a requirements file, lock file or Python environment; comma-separated list")
      ->allow_extra_args(false);
  command->add_option("-t,--target", options->target, "bugs on these GPUs, as in probe; default: any");
  command->add_option("--cudnn", options->cudnn,
                      "bugs of these versions, installed or not, for example 9.19; comma-separated list; default: any");
  add_output_options(*command, *options);
  command->require_subcommand(0, 1);

  auto* make = command->add_subcommand(
      "run", "Run the bugs' experiments with the installed cuDNN; on simulated GPUs, plans are only compiled");
  make->add_option("BUG", options->ids, "ids of bugs; default: all that affect the GPU");
  make->add_option("-t,--target", options->target,
                   "as in probe; default: this machine's GPUs, otherwise the representative ones");
  make->add_option("--cudnn", options->cudnn, "libcudnn.so.9, its folder, or a version; comma-separated list, or all");
  make->add_option("--record", options->record, "file of sightings to update (lib/rules/cudnn/sightings.json)")
      ->group("Output");
  make->add_option("--mode", options->ask.modes, "heuristic modes, comma-separated list of A, B, FALLBACK; default: A");
  make->add_option("-j,--jobs", options->ask.how.jobs, "worker processes at a time; default: the cores")
      ->check(check_jobs);
  make->add_option("--timeout", options->ask.how.timeout_seconds,
                   "seconds for one experiment, and for each of its plans")
      ->check(check_seconds);
  add_output_options(*make, *options);
  options->ask.modes = "A";
  options->ask.how.timeout_seconds = 60;
  command->callback([options, &run, make] {
    if (make->parsed())
      run = [options] { return run_bugs(*options); };
    else
      run = [options] { return list_bugs(*options); };
  });
}

}  // namespace attnprobe::app
