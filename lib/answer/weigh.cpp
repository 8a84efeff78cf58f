// Derives the user's answer and its severity from the verdict, the rules and the engine configs.
#include <fmt/format.h>

#include <algorithm>

#include "answer/judge.hpp"
#include "gpu/catalogue.hpp"
#include "probe/walk_difference.hpp"
#include "rules/framework_rules.hpp"

namespace attnprobe::answer {

namespace {

// A cuDNN older than the GPU treats the new compute capability like others of its family. Its support check passes, but
// no kernel compiles. The cause is the old cuDNN, not a bug of a kernel.
void tell_new_gpu_from_bug(Answer& result) {
  if (!result.root_cause || result.root_cause->category != Category::compilation) return;
  for (const rules::Requirement& requirement : result.requirements) {
    if (!requirement.feature.starts_with("fused attention on ")) continue;
    result.root_cause->explanation =
        fmt::format("The support check passed, but the kernel did not compile; the GPU is newer than this cuDNN: {}.",
                    requirement.text);
    result.root_cause->in_general = "Use a cuDNN that supports the GPU; no engine config of this one works on it.";
    return;
  }
}

}  // namespace

void add_version_rules(Answer& result) {
  if (!result.cudnn_version.is_known() || !result.has_spec()) return;
  const auto& spec = result.config.spec;
  if (!result.environment_broken)
    result.requirements = rules::unmet_requirements(spec, result.cudnn_version, result.target.sm);
  tell_new_gpu_from_bug(result);
  result.warnings = rules::known_bugs(spec, result.cudnn_version, result.target.sm);
  result.frontend = rules::frontend_answer(spec, result.cudnn_version, result.target.sm);
  const auto from = rules::first_version(spec, result.cudnn_version, result.target.sm);
  // If cuDNN refuses although the rules allow it, the rules know neither the reason nor the version with a fix.
  const bool is_contradicted = result.verdict != Verdict::supported && from && *from <= result.cudnn_version;
  if (from && !is_contradicted && !result.environment_broken) result.from = FirstVersion{*from, false, {}, {}};
}

void add_frameworks(Answer& result, const std::vector<rules::ChosenGate>& gates) {
  result.frameworks.clear();
  if (!result.cudnn_version.is_known() || !result.has_spec()) return;
  // A framework's compiled-in cudnn-frontend is not the Python package.
  if (result.frontend && rules::is_of_package(*result.frontend) && rules::frontend_of(gates)) {
    rules::FrontendAnswer answer;
    answer.version = result.frontend->version;
    result.frontend = answer;
  }
  for (const rules::ChosenGate& chosen : gates) {
    const Json call = rules::describe_gate_call(*chosen.gate, result.config.spec, result.cudnn_version,
                                                result.target.sm, result.call);
    rules::GateAnswer& answer =
        result.frameworks.emplace_back(rules::answer_of_gate(chosen, call, result.cudnn_version));
    // Only if cudnn-frontend has the pattern.
    if (result.frontend)
      note_frontend(answer, chosen, FrontendVersion::parse(result.frontend->version).value().release());
  }
}

namespace {

std::string without_stop(std::string text) {
  if (!text.empty() && text.back() == '.') text.pop_back();
  return text;
}

std::string source_text(const rules::Source& source) {
  return source.url.empty() ? source.text : fmt::format("{}: {}", source.text, source.url);
}

// The failure of a plan that a program would use; "" if the plan works or was not requested.
std::string failure_of(const probe::EngineConfigFindings& config) {
  if (config.plan && !probe::is_built(config) && !probe::is_left_open(config))
    return is_lost(*config.plan) ? "crashes its process when it is built" : "does not compile";
  if (!config.run || probe::ran(*config.run)) return "";
  switch (config.run->status) {
    case probe::RunStatus::wrong_result:
      return "computes something wrong";
    case probe::RunStatus::crashed:
    case probe::RunStatus::timeout:
    case probe::RunStatus::cuda_error:
    case probe::RunStatus::cudnn_error:
      return "fails when it runs";
    default:
      return "";  // too little memory, or not run: not the plan's fault
  }
}

// Obstacles in the engine configs themselves.
void add_engine_obstacles(Answer& result) {
  const auto& configs = result.findings.engine_configs;
  const auto* taken = probe::first_working(result.findings);
  if (taken == nullptr) return;
  if (taken->modes.empty()) {
    result.but.push_back({ObstacleKind::outside_heuristics,
                          fmt::format("only {} supports it, but no heuristic proposes it, so programs do not use it",
                                      probe::config_name(taken->engine, taken->knobs)),
                          "attnprobe asked every engine and built the plan"});
    return;
  }
  const auto first = std::find_if(configs.begin(), configs.end(),
                                  [](const auto& config) { return config.check.supported && !config.left_out; });
  if (const std::string failure = failure_of(*first); !failure.empty())
    result.but.push_back(
        {ObstacleKind::first_choice_fails,
         fmt::format("the first choice, {}, {}; {} works", probe::config_name(first->engine, first->knobs), failure,
                     probe::config_name(taken->engine, taken->knobs)),
         "attnprobe built plans in turn"});
}

}  // namespace

namespace {

// Drops bugs disproved here by the first choice's plan, and bugs about plans that were not requested.
void drop_disproved(Answer& result) {
  const auto& configs = result.findings.engine_configs;
  const auto first = std::find_if(configs.begin(), configs.end(),
                                  [](const auto& config) { return config.check.supported && !config.modes.empty(); });
  const bool tunes = std::any_of(configs.begin(), configs.end(),
                                 [&](const auto& config) { return config.plan && &config != &*first; });
  if (!tunes) std::erase_if(result.warnings, [](const rules::KnownBug& bug) { return bug.of_other_configs; });
  if (first == configs.end() || !probe::is_built(*first)) return;
  std::erase_if(result.warnings, [](const rules::KnownBug& bug) { return bug.of_compiling; });
}

}  // namespace

namespace {

void weigh_obstacles(Answer& result) {
  result.but.clear();
  drop_disproved(result);
  switch (result.verdict) {
    case Verdict::error:
      result.usable.reset();
      return;
    case Verdict::unsupported:
    case Verdict::invalid_graph:
    case Verdict::crashed:
    case Verdict::timeout:
    case Verdict::wrong_result:
      result.usable = Usable::no;
      return;
    case Verdict::supported:
      break;
  }
  for (const auto& framework : result.frameworks)
    if (framework.takes != rules::Takes::yes)
      result.but.push_back({ObstacleKind::framework, framework.text, source_text(framework.source)});
  for (const auto& requirement : result.requirements)
    result.but.push_back({ObstacleKind::requirement, without_stop(requirement.text), source_text(requirement.source)});
  if (result.frontend && result.frontend->refuses)
    result.but.push_back({ObstacleKind::frontend,
                          fmt::format("{}cudnn-frontend {} refuses it: {}",
                                      rules::is_of_package(*result.frontend) ? "the Python package of " : "",
                                      result.frontend->version, without_stop(result.frontend->message)),
                          source_text(result.frontend->source)});
  for (const auto& bug : result.warnings)
    result.but.push_back({ObstacleKind::known_bug, "known bug: " + without_stop(bug.what), source_text(bug.source)});
  add_engine_obstacles(result);
  result.usable = result.but.empty() ? Usable::yes : Usable::but;
}

}  // namespace

void weigh(Answer& result) {
  weigh_obstacles(result);
  const auto& configs = result.findings.engine_configs;
  Outcome outcome{result.verdict, result.environment_broken};
  outcome.lacks_memory = result.root_cause && result.root_cause->category == Category::memory;
  outcome.met = met_expectation(result);
  outcome.has_wrong_plan = std::any_of(configs.begin(), configs.end(),
                                       [](const auto& config) { return config.run && is_wrong(*config.run); });
  outcome.has_lost_plan = std::any_of(configs.begin(), configs.end(), is_lost_over);
  result.severity = severity_of(outcome);
}

void complete(Answer& result, const std::vector<rules::ChosenGate>& gates) {
  add_version_rules(result);
  add_frameworks(result, gates);
  weigh(result);
}

bool is_lost_over(const probe::EngineConfigFindings& config) {
  return (config.plan && is_lost(*config.plan)) ||
         (config.run && (is_lost(*config.run) || config.run->status == probe::RunStatus::cuda_error));
}

Severity severity_of(const Outcome& outcome) {
  Severity gravest = outcome.met ? Severity::as_expected : Severity::not_as_expected;
  const auto at_least = [&](bool is_so, Severity severity) { gravest = is_so ? std::max(gravest, severity) : gravest; };
  at_least(outcome.environment_broken, outcome.lacks_memory ? Severity::lacks_memory : Severity::environment);
  at_least(outcome.verdict == Verdict::crashed || outcome.verdict == Verdict::timeout || outcome.has_lost_plan,
           Severity::lost);
  at_least(outcome.verdict == Verdict::wrong_result || outcome.has_wrong_plan, Severity::wrong_result);
  return gravest;
}

}  // namespace attnprobe::answer
