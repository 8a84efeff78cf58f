#include "studies/bugs/bug_experiments.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/catalogue.hpp"
#include "probe/walk_difference.hpp"

namespace attnprobe::studies {
namespace {

using probe::PlanOutcome;
using probe::RunStatus;
using rules::Seen;

Seen seen_of(const probe::PlanFindings& plan) {
  switch (outcome_of(plan)) {
    case PlanOutcome::built:
    case PlanOutcome::needs_driver:
    case PlanOutcome::needs_compiler:
      return Seen::not_run;
    case PlanOutcome::crashed:
      return Seen::crashed;
    case PlanOutcome::timeout:
      return Seen::hung;
    case PlanOutcome::refused:
    case PlanOutcome::error:
      break;
  }
  return Seen::does_not_compile;
}

Seen seen_of(const probe::RunFindings& run) {
  switch (run.status) {
    case RunStatus::ok:
      return Seen::right;
    case RunStatus::wrong_result:
      return Seen::wrong_result;
    case RunStatus::cuda_error:
    case RunStatus::cudnn_error:
      return Seen::error;
    case RunStatus::crashed:
      return Seen::crashed;
    case RunStatus::timeout:
      return Seen::hung;
    case RunStatus::not_verified:
    case RunStatus::out_of_memory:
    case RunStatus::not_run:
      break;
  }
  return Seen::not_run;
}

// A plan that could not run is less certain than a correct one.
int badness(Seen seen) {
  if (seen == Seen::right || seen == Seen::refused) return 0;
  return seen == Seen::not_run ? 1 : 1 + static_cast<int>(seen);
}

}  // namespace

rules::Seen seen_of(const probe::EngineConfigFindings& config) {
  return config.run ? seen_of(*config.run) : seen_of(*config.plan);
}

std::string words_of(const probe::EngineConfigFindings& config) {
  if (config.run) return config.run->message;
  return config.plan->reasons.empty() ? config.plan->status : config.plan->reasons.front().reason;
}

rules::BugSighting sighting_of(const std::string& bug, const answer::Answer& result, const std::string& driver,
                               const std::string& date) {
  rules::BugSighting sighting;
  sighting.bug = bug;
  sighting.gpu = gpu::id_or_name(result.target);
  sighting.simulated = result.target.kind == gpu::Kind::simulated;
  sighting.cudnn = result.cudnn_version.is_known() ? result.cudnn_version.text() : "";
  sighting.driver = sighting.simulated ? "" : driver;
  sighting.date = date;
  if (result.crash && !result.environment_broken) {
    sighting.seen = result.verdict == answer::Verdict::timeout ? Seen::hung : Seen::crashed;
    sighting.what = fmt::format("{}, at: {}", result.crash->how, result.crash->stage.text);
    return sighting;
  }
  if (result.verdict == answer::Verdict::unsupported) {
    sighting.seen = Seen::refused;
    sighting.what = short_reason(result);
  }
  bool any = false;
  for (const auto& config : result.findings.engine_configs) {
    if (config.modes.empty() || !config.plan) continue;
    const Seen seen = seen_of(config);
    if (any && badness(seen) <= badness(sighting.seen)) continue;
    any = true;
    sighting.seen = seen;
    const std::string name = probe::config_name(config.engine, config.knobs);
    sighting.what = seen == Seen::right ? "" : fmt::format("{}: {}", name, words_of(config));
  }
  return sighting;
}

Agreement agreement_of(const rules::BugSighting& sighting, const std::vector<rules::KnownBug>& known) {
  if (rules::is_seen(sighting.seen)) return known.empty() ? Agreement::also_here : Agreement::as_known;
  if (sighting.seen != Seen::right) return Agreement::not_answered;
  const bool applies = std::any_of(known.begin(), known.end(), [&](const auto& bug) { return bug.id == sighting.bug; });
  return applies ? Agreement::not_shown : Agreement::as_known;
}

}  // namespace attnprobe::studies
