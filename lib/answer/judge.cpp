#include "answer/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "answer/reasons.hpp"
#include "log/status.hpp"
#include "probe/constraints.hpp"
#include "probe/determinism.hpp"
#include "probe/walk_difference.hpp"
#include "rules/condition.hpp"
#include "rules/flat_problem.hpp"

namespace attnprobe::answer {

using log::StatusFamily;
using probe::PlanOutcome;
using probe::RunStatus;

bool is_lost(const probe::PlanFindings& plan) {
  const PlanOutcome outcome = outcome_of(plan);
  return outcome == PlanOutcome::crashed || outcome == PlanOutcome::timeout;
}

bool is_lost(const probe::RunFindings& run) {
  return run.status == RunStatus::crashed || run.status == RunStatus::timeout;
}

namespace {

Verdict verdict_of_failure(const probe::Failure& failure) {
  if (lacks_descriptor(failure)) return Verdict::unsupported;
  switch (log::family_of(failure.cudnn.status)) {
    case StatusFamily::bad_param:
      return Verdict::invalid_graph;
    case StatusFamily::not_supported:
      return Verdict::unsupported;
    default:
      return Verdict::error;
  }
}

// A mode that failed with anything except "not supported" leaves the question open.
bool a_mode_broke(const probe::WalkFindings& findings) {
  for (const auto& mode : findings.modes) {
    const StatusFamily family = log::family_of(mode.status);
    if (family != StatusFamily::success && family != StatusFamily::not_supported) return true;
  }
  return false;
}

// The first engine config that passes cuDNN's check and was lost or failed when it ran. Failures that are only due to
// the GPU's memory come last.
const probe::EngineConfigFindings* decisive_config(const probe::WalkFindings& findings) {
  const probe::EngineConfigFindings* too_large = nullptr;
  for (const auto& config : findings.engine_configs) {
    if (!config.run && !(config.plan && is_lost(*config.plan))) continue;
    if (!config.run || config.run->status != RunStatus::out_of_memory) return &config;
    if (too_large == nullptr) too_large = &config;
  }
  return too_large;
}

// How its run ended; a lost plan never started a run.
RunStatus end_of(const probe::EngineConfigFindings& config) {
  if (config.run) return config.run->status;
  return outcome_of(*config.plan) == PlanOutcome::timeout ? RunStatus::timeout : RunStatus::crashed;
}

Verdict verdict_of(RunStatus status) {
  if (status == RunStatus::wrong_result) return Verdict::wrong_result;
  if (status == RunStatus::crashed) return Verdict::crashed;
  return status == RunStatus::timeout ? Verdict::timeout : Verdict::error;
}

Category category_of(RunStatus status) {
  if (status == RunStatus::out_of_memory) return Category::memory;
  if (status == RunStatus::crashed) return Category::crash;
  return parse_enum<Category>(name_of(status)).value_or(Category::unknown);
}

// No plan runs correctly: the outcome of one decides.
bool judge_runs(Answer& result) {
  const probe::EngineConfigFindings* config = decisive_config(result.findings);
  if (config == nullptr) return false;
  const RunStatus status = end_of(*config);
  result.verdict = verdict_of(status);
  result.environment_broken = status == RunStatus::out_of_memory;
  RootCause cause;
  cause.category = category_of(status);
  cause.reason = config->run                     ? config->run->message
                 : config->plan->reasons.empty() ? ""
                                                 : config->plan->reasons.front().reason;
  cause.engine = config->engine;
  if (!config->modes.empty()) cause.mode = config->modes.front();
  cause.explanation = status == RunStatus::wrong_result
                          ? "cuDNN supports this graph and builds a plan for it, but the plan computes wrong results."
                      : status == RunStatus::out_of_memory
                          ? "cuDNN supports this graph, but the GPU does not have the memory to run it."
                          : "cuDNN's support check passes, but no plan runs to completion.";
  result.root_cause = cause;
  return true;
}

// cuDNN supports the graph, but no engine config meets the user's constraints.
bool judge_constraints(Answer& result, bool deterministic) {
  const auto& configs = result.findings.engine_configs;
  if (std::any_of(configs.begin(), configs.end(),
                  [](const auto& config) { return config.check.supported && !config.left_out; }))
    return false;
  const auto* choice = probe::displaced_choice(result.findings);
  if (choice == nullptr) return false;
  result.verdict = Verdict::unsupported;
  RootCause cause;
  cause.category = Category::constraint;
  cause.engine = choice->engine;
  if (!choice->modes.empty()) cause.mode = choice->modes.front();
  cause.reason = *choice->left_out;
  cause.explanation = fmt::format(
      "cuDNN supports this graph, but no engine config meets the constraints. The first choice would have been {}: {}.",
      probe::config_name(choice->engine, choice->knobs), *choice->left_out);
  if (deterministic && result.has_spec()) cause.in_general = probe::advice_on_order(result.config.spec);
  result.root_cause = cause;
  return true;
}

}  // namespace

void judge(Answer& result, bool deterministic) {
  const probe::WalkFindings& findings = result.findings;
  if (!findings.failure && probe::has_working_config(findings)) {
    result.verdict = Verdict::supported;
    return;
  }
  if (findings.plans_built && !findings.failure && judge_runs(result)) return;
  if (!findings.failure && judge_constraints(result, deterministic)) return;
  const bool is_known = result.cudnn_version.is_known() && result.has_spec();
  result.root_cause = is_known ? root_cause(findings, result.config.spec, result.cudnn_version, result.target.sm)
                               : root_cause(findings);
  if (speaks_of_environment(findings)) {
    result.verdict = Verdict::error;
    result.environment_broken = true;
  } else if (findings.failure) {
    result.verdict = verdict_of_failure(*findings.failure);
  } else {
    result.verdict = a_mode_broke(findings) ? Verdict::error : Verdict::unsupported;
  }
}

void judge_open(Answer& result, Category category, const std::string& reason, const std::string& explanation) {
  result.verdict = Verdict::error;
  result.environment_broken = category == Category::environment;
  RootCause cause;
  cause.category = category;
  cause.reason = reason;
  cause.explanation = explanation;
  result.root_cause = cause;
}

namespace {

std::string words_on_kill(const Lost& lost) {
  const char* who =
      lost.is_killed
          ? "Usual causes: no memory left (`dmesg` names the process), the memory limit of a container or batch job, or a manual kill. Free memory, raise the limit or use fewer --jobs"
          : "Usual causes: a time limit of the batch system, a closed terminal, or a manual kill. Let it run to its end";
  return fmt::format(
      "Something outside cuDNN killed the worker process ({}) in this step: {}. cuDNN does not send itself this signal. {}, and ask again (a matrix: with --resume).",
      lost.crash.how, lost.crash.stage.text, who);
}

// Nothing is known about the graph, because cuDNN was not asked.
std::string words_on_start(const Lost& lost) {
  if (lost.timed_out)
    return "The time limit ended while the worker process loaded cuDNN and opened the GPU, before any graph was asked. Allow more: --timeout 60, or omit it for 120 s. If it times out again, this machine's cuDNN or driver hangs (`attnprobe doctor`).";
  return fmt::format(
      "The worker process {} while it loaded cuDNN and opened the GPU ({}), before any graph was asked. This machine's cuDNN or driver is broken (`attnprobe doctor`).",
      lost.how, lost.crash.how);
}

}  // namespace

void judge_lost(Answer& result, const Lost& lost) {
  result.crash = lost.crash;
  if (lost.is_from_outside) return judge_open(result, Category::environment, lost.what, words_on_kill(lost));
  if (lost.crash.stage.step == probe::Step::start)
    return judge_open(result, Category::environment, lost.what, words_on_start(lost));
  result.verdict = lost.timed_out ? Verdict::timeout : Verdict::crashed;
  RootCause cause;
  cause.category = lost.timed_out ? Category::timeout : Category::crash;
  cause.reason = lost.what;
  cause.explanation =
      lost.timed_out
          ? fmt::format("cuDNN did not return in time from this step: {}. attnprobe killed the process.",
                        lost.crash.stage.text)
          : fmt::format("cuDNN crashed its process ({}) in this step: {}.", lost.crash.how, lost.crash.stage.text);
  result.root_cause = cause;
}

namespace {

// The rule to act on: first features that no cuDNN has, then features that the GPU lacks, then the feature that needs
// the newest cuDNN.
struct Decisive {
  const rules::Requirement* requirement = nullptr;
  bool of_gpu = false;
  std::string instead = {};
};

Decisive decisive(const Answer& result) {
  const Json problem = rules::describe_problem(result.config.spec, result.cudnn_version, result.target.sm);
  Decisive found;
  std::tuple<bool, bool, CudnnVersion> heaviest;
  for (const rules::Requirement& requirement : result.requirements)
    for (const rules::RequirementRule& rule : rules::requirement_rules()) {
      if (rule.entry.id != requirement.id) continue;
      const bool of_gpu = !rule.sm.is_null() && !rules::holds(rule.sm, problem);
      const std::tuple weight(rule.never, of_gpu, rule.cudnn_from);
      if (found.requirement != nullptr && !(heaviest < weight)) continue;
      found = {&requirement, of_gpu, rule.instead};
      heaviest = weight;
    }
  return found;
}

// `varying`: why it is not deterministic although requested; otherwise "".
RootCause cause_of(const Answer& result, const std::string& varying) {
  RootCause cause;
  cause.explanation = fmt::format("By rule: cuDNN {} was not asked. The answer comes from the cited sources.",
                                  result.cudnn_version.text());
  if (!varying.empty()) {
    cause.category = Category::constraint;
    cause.reason = varying;
    cause.in_general = probe::advice_on_order(result.config.spec);
    return cause;
  }
  const auto [requirement, of_gpu, instead] = decisive(result);
  cause.category = of_gpu ? Category::arch_mismatch : Category::version;
  cause.reason = requirement->text;
  if (result.from && result.from->version > result.cudnn_version)
    cause.in_general = fmt::format("Use cuDNN {} or newer.", result.from->version.text());
  else
    cause.in_general = instead.empty() ? fmt::format("Use {}.", requirement->needs) : instead;
  return cause;
}

}  // namespace

void judge_by_rule(Answer& result, const std::vector<rules::ChosenGate>& gates, bool deterministic) {
  result.by_rule = true;
  result.verdict = Verdict::supported;
  add_version_rules(result);
  add_frameworks(result, gates);
  const bool must_not_vary = deterministic && result.has_spec() && result.requirements.empty();
  const std::string varying =
      must_not_vary ? probe::varying_sums(result.config.spec, {result.cudnn_version, result.target.sm}, nullptr) : "";
  if (!result.requirements.empty() || !varying.empty()) {
    result.verdict = Verdict::unsupported;
    result.root_cause = cause_of(result, varying);
  }
  weigh(result);
}

}  // namespace attnprobe::answer
