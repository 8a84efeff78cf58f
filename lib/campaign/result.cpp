#include "campaign/result.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "diagnose/reasons.hpp"
#include "gpu/catalogue.hpp"
#include "log/status.hpp"
#include "probe/constraints.hpp"
#include "probe/walk_difference.hpp"
#include "rules/framework_rules.hpp"

namespace attnprobe::campaign {
namespace {

using log::StatusFamily;
using probe::PlanOutcome;
using probe::RunStatus;

Verdict verdict_of_failure(const probe::Failure& failure) {
  if (diagnose::lacks_descriptor(failure)) return Verdict::unsupported;
  switch (log::family_of(failure.cudnn.status)) {
    case StatusFamily::bad_param:
      return Verdict::invalid_graph;
    case StatusFamily::not_supported:
      return Verdict::unsupported;
    default:
      return Verdict::error;
  }
}

bool is_lost(const probe::PlanFindings& plan) {
  const PlanOutcome outcome = outcome_of(plan);
  return outcome == PlanOutcome::crashed || outcome == PlanOutcome::timeout;
}

bool is_lost(const probe::RunFindings& run) {
  return run.status == RunStatus::crashed || run.status == RunStatus::timeout;
}

// A mode that failed with anything but "not supported" leaves the question open.
bool a_mode_broke(const probe::WalkFindings& findings) {
  for (const auto& mode : findings.modes) {
    const StatusFamily family = log::family_of(mode.status);
    if (family != StatusFamily::success && family != StatusFamily::not_supported) return true;
  }
  return false;
}

// The first engine config that passes cuDNN's check and was lost or failed when it ran; one that the GPU is too small
// for only where there is no other.
const probe::EngineConfigFindings* decisive_config(const probe::WalkFindings& findings) {
  const probe::EngineConfigFindings* too_large = nullptr;
  for (const auto& config : findings.engine_configs) {
    if (!config.run && !(config.plan && is_lost(*config.plan))) continue;
    if (!config.run || config.run->status != RunStatus::out_of_memory) return &config;
    if (too_large == nullptr) too_large = &config;
  }
  return too_large;
}

// How its run ended; a plan that was lost never began one.
RunStatus end_of(const probe::EngineConfigFindings& config) {
  if (config.run) return config.run->status;
  return outcome_of(*config.plan) == PlanOutcome::timeout ? RunStatus::timeout : RunStatus::crashed;
}

Verdict verdict_of(RunStatus status) {
  if (status == RunStatus::wrong_result) return Verdict::wrong_result;
  if (status == RunStatus::crashed) return Verdict::crashed;
  return status == RunStatus::timeout ? Verdict::timeout : Verdict::error;
}

diagnose::Category category_of(RunStatus status) {
  if (status == RunStatus::out_of_memory) return diagnose::Category::memory;
  if (status == RunStatus::crashed) return diagnose::Category::crash;
  return parse_enum<diagnose::Category>(name_of(status)).value_or(diagnose::Category::unknown);
}

// None of the plans runs right: what became of one says it.
bool judge_runs(Result& result) {
  const probe::EngineConfigFindings* config = decisive_config(result.findings);
  if (config == nullptr) return false;
  const RunStatus status = end_of(*config);
  result.verdict = verdict_of(status);
  result.environment_broken = status == RunStatus::out_of_memory;
  diagnose::RootCause cause;
  cause.category = category_of(status);
  cause.reason = config->run                     ? config->run->message
                 : config->plan->reasons.empty() ? ""
                                                 : config->plan->reasons.front().reason;
  cause.engine = config->engine;
  if (!config->modes.empty()) cause.mode = config->modes.front();
  cause.explanation = status == RunStatus::wrong_result
                          ? "cuDNN supports this graph and builds a plan for it, but the plan computes something else "
                            "than the graph says."
                      : status == RunStatus::out_of_memory
                          ? "cuDNN supports this graph, but the GPU does not have the memory to run it."
                          : "cuDNN says that it supports this graph, but no plan runs to its end.";
  result.root_cause = cause;
  return true;
}

// cuDNN takes the graph, and nothing of what it offers keeps to the asker's constraints.
bool judge_constraints(Result& result) {
  const auto& configs = result.findings.engine_configs;
  if (std::any_of(configs.begin(), configs.end(),
                  [](const auto& config) { return config.check.supported && !config.left_out; }))
    return false;
  const auto* choice = probe::displaced_choice(result.findings);
  if (choice == nullptr) return false;
  result.verdict = Verdict::unsupported;
  diagnose::RootCause cause;
  cause.category = diagnose::Category::constraint;
  cause.engine = choice->engine;
  if (!choice->modes.empty()) cause.mode = choice->modes.front();
  cause.reason = *choice->left_out;
  cause.explanation = fmt::format(
      "cuDNN supports this graph, but no engine config keeps to what was demanded. The first choice would have "
      "been {}: {}.",
      probe::config_name(choice->engine, choice->knobs), *choice->left_out);
  result.root_cause = cause;
  return true;
}

}  // namespace

void judge(Result& result) {
  const probe::WalkFindings& findings = result.findings;
  if (!findings.failure && probe::has_working_config(findings)) {
    result.verdict = Verdict::supported;
    return;
  }
  if (findings.plans_built && !findings.failure && judge_runs(result)) return;
  if (!findings.failure && judge_constraints(result)) return;
  const bool is_known = result.cudnn_version.is_known() && result.has_spec();
  result.root_cause = is_known
                          ? diagnose::root_cause(findings, result.config.spec, result.cudnn_version, result.target.sm)
                          : diagnose::root_cause(findings);
  if (diagnose::speaks_of_environment(findings)) {
    result.verdict = Verdict::error;
    result.environment_broken = true;
  } else if (findings.failure) {
    result.verdict = verdict_of_failure(*findings.failure);
  } else {
    result.verdict = a_mode_broke(findings) ? Verdict::error : Verdict::unsupported;
  }
}

namespace {

// A cuDNN from before a GPU takes the new compute capability for one of its family, passes the support check and has no kernel
// that compiles for it: no bug of a kernel, but too old a cuDNN.
void tell_new_gpu_from_bug(Result& result) {
  if (!result.root_cause || result.root_cause->category != diagnose::Category::compilation) return;
  for (const rules::Requirement& requirement : result.requirements) {
    if (!requirement.feature.starts_with("fused attention on ")) continue;
    result.root_cause->explanation = fmt::format(
        "The support check passed, and then the kernel did not compile; the GPU is newer than this cuDNN: {}.",
        requirement.text);
    result.root_cause->in_general = "Use a cuDNN that knows the GPU; no engine config of this one will do.";
    return;
  }
}

}  // namespace

void add_version_rules(Result& result) {
  if (!result.cudnn_version.is_known() || !result.has_spec()) return;
  const auto& spec = result.config.spec;
  if (!result.environment_broken)
    result.requirements = rules::unmet_requirements(spec, result.cudnn_version, result.target.sm);
  tell_new_gpu_from_bug(result);
  result.warnings = rules::known_bugs(spec, result.cudnn_version, result.target.sm);
  result.frontend = rules::frontend_answer(spec, result.cudnn_version, result.target.sm);
  const auto from = rules::first_version(spec, result.cudnn_version, result.target.sm);
  // Where cuDNN refuses what the rules allow, they do not know the reason, nor when it went.
  const bool is_contradicted = result.verdict != Verdict::supported && from && *from <= result.cudnn_version;
  if (from && !is_contradicted && !result.environment_broken) result.from = FirstVersion{*from, false, {}, {}};
}

void add_frameworks(Result& result, const std::vector<rules::ChosenGate>& gates) {
  result.frameworks.clear();
  if (!result.cudnn_version.is_known() || !result.has_spec()) return;
  // A framework's own cudnn-frontend is not the Python package.
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
    // Where cudnn-frontend has the pattern.
    if (result.frontend)
      note_frontend(answer, chosen, FrontendVersion::parse(result.frontend->version).value().release());
  }
}

std::string text_of(const FirstVersion& from) {
  const std::string version = from.version.text();
  if (from.asked) return fmt::format("from cuDNN {} ({} refuses)", version, from.refused_by.text());
  if (!from.asked_back_to.is_known()) return fmt::format("from cuDNN {} by rule", version);
  return fmt::format("from cuDNN {} by rule, asked back to {}", version, from.asked_back_to.text());
}

bool has_wrong_plan(const Result& result) {
  const auto& configs = result.findings.engine_configs;
  return std::any_of(configs.begin(), configs.end(),
                     [](const auto& config) { return config.run && is_wrong(*config.run); });
}

bool has_lost_plan(const Result& result) {
  const auto& configs = result.findings.engine_configs;
  return std::any_of(configs.begin(), configs.end(), [](const auto& config) {
    return (config.plan && is_lost(*config.plan)) ||
           (config.run && (is_lost(*config.run) || config.run->status == RunStatus::cuda_error));
  });
}

namespace {

std::string without_stop(std::string text) {
  if (!text.empty() && text.back() == '.') text.pop_back();
  return text;
}

std::string source_text(const rules::Source& source) {
  return source.url.empty() ? source.text : fmt::format("{}: {}", source.text, source.url);
}

// What became of a plan that a program would have taken; "" where it works or nobody asked.
std::string failure_of(const probe::EngineConfigFindings& config) {
  if (config.plan && !probe::is_built(config) && !probe::is_left_open(config))
    return is_lost(*config.plan) ? "takes its process down when it is built" : "does not compile";
  if (!config.run || probe::ran(*config.run)) return "";
  switch (config.run->status) {
    case RunStatus::wrong_result:
      return "computes something wrong";
    case RunStatus::crashed:
    case RunStatus::timeout:
    case RunStatus::cuda_error:
    case RunStatus::cudnn_error:
      return "fails when it runs";
    default:
      return "";  // too little memory, or not run: not its fault
  }
}

// What the engine configs themselves say against it.
void add_engine_obstacles(Result& result) {
  const auto& configs = result.findings.engine_configs;
  const auto* taken = probe::first_working(result.findings);
  if (taken == nullptr) return;
  if (taken->modes.empty()) {
    result.but.push_back({ObstacleKind::outside_heuristics,
                          fmt::format("only {}, which no heuristic proposes, takes it: programs do not get it",
                                      probe::config_name(taken->engine, taken->knobs)),
                          "every engine asked, and the plan built"});
    return;
  }
  const auto first = std::find_if(configs.begin(), configs.end(),
                                  [](const auto& config) { return config.check.supported && !config.left_out; });
  if (const std::string failure = failure_of(*first); !failure.empty())
    result.but.push_back(
        {ObstacleKind::first_choice_fails,
         fmt::format("the first choice, {}, {}; {} works", probe::config_name(first->engine, first->knobs), failure,
                     probe::config_name(taken->engine, taken->knobs)),
         "plans built in turn"});
}

}  // namespace

namespace {

// What the plan of the first choice has shown not to be so here, and what concerns plans that nobody asked for.
void drop_disproved(Result& result) {
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

void weigh(Result& result) {
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

std::string_view answer_word(const Result& result) {
  if (result.usable) return name_of(*result.usable);
  return result.environment_broken ? "environment" : name_of(result.verdict);
}

std::string text_of(const WayOut& way) {
  const auto more = [](double ratio, const char* what) -> std::string {
    if (ratio >= 10) return fmt::format(", {:.0f} times the {}", ratio, what);
    if (ratio >= 2) return fmt::format(", {:.2g} times the {}", ratio, what);
    return ratio > 1.005 ? fmt::format(", {:.0f} % more {}", 100 * (ratio - 1), what) : "";
  };
  return fmt::format("{}: supported here, by engine {}{}{}", fmt::join(way.changes, "; and "), way.engine,
                     more(way.work, "work"), more(way.memory, "memory"));
}

std::string short_reason(const Result& result) {
  if (!result.root_cause) return "";
  const std::string& reason = result.root_cause->reason;
  // Behind cuDNN's words stands the condition in its source; other words are whole sentences.
  const std::string words = result.root_cause->status.empty() ? reason : reason.substr(0, reason.find(" at: "));
  return words.empty() ? result.root_cause->explanation : words;
}

attention::ExpectedVerdict expected(const Result& result) {
  const auto& expect = result.config.spec.expect;
  const gpu::Target* twin = gpu::twin(result.target);
  const auto is_meant = [&](const std::string& word) {
    return word == result.target.id || (twin != nullptr && gpu::find(word) == twin);
  };
  const std::string version = result.cudnn_version.is_known() ? result.cudnn_version.text() : "";
  // "b200@9.8" before "b200" before "default@9.8".
  const attention::ExpectedVerdict* of_target = nullptr;
  const attention::ExpectedVerdict* of_version = nullptr;
  for (const auto& [word, verdict] : expect.by_target) {
    const size_t at = word.find('@');
    const bool has_version = at != std::string::npos;
    if (has_version && (version.empty() || !is_of_version(version, word.substr(at + 1)))) continue;
    if (const std::string target = word.substr(0, at); target == "default") {
      of_version = &verdict;
    } else if (is_meant(target)) {
      if (has_version) return verdict;
      of_target = &verdict;
    }
  }
  return of_target != nullptr ? *of_target : of_version != nullptr ? *of_version : expect.otherwise;
}

bool met_expectation(const Result& result) {
  using attention::ExpectedVerdict;
  switch (expected(result)) {
    case ExpectedVerdict::supported:
      return result.verdict == Verdict::supported;
    case ExpectedVerdict::unsupported:
      return result.verdict == Verdict::unsupported;
    case ExpectedVerdict::yes:
      return result.usable == Usable::yes;
    case ExpectedVerdict::but:
      return result.usable == Usable::but;
    case ExpectedVerdict::no:
      return result.usable == Usable::no;
    case ExpectedVerdict::any:
      break;
  }
  return result.verdict == Verdict::supported || result.verdict == Verdict::unsupported;
}

}  // namespace attnprobe::campaign
