#include "probe/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text.hpp"

namespace attnprobe::probe {
bool ran(const RunFindings& run) {
  return run.status == RunStatus::ok || run.status == RunStatus::not_verified;
}

bool is_wrong(const RunFindings& run) {
  return run.status == RunStatus::wrong_result ||
         std::any_of(run.sanitized.begin(), run.sanitized.end(),
                     [](const auto& under) { return under.status == SanitizerStatus::errors; });
}

PlanOutcome outcome_of(const PlanFindings& plan) {
  if (plan.status == "CUDNN_STATUS_SUCCESS") return PlanOutcome::built;
  // The null driver's name in its errors (gpu/null_driver.c), as cuDNN's reasons quote it.
  constexpr std::string_view null_driver = "attnprobe null driver";
  for (const auto& reason : plan.reasons)
    if (reason.reason.find(null_driver) != std::string::npos) return PlanOutcome::needs_driver;
  return parse_enum<PlanOutcome>(plan.status).value_or(PlanOutcome::refused);
}

bool is_built(const EngineConfigFindings& config) {
  return config.plan && outcome_of(*config.plan) == PlanOutcome::built;
}

bool is_left_open(const EngineConfigFindings& config) {
  if (!config.plan) return false;
  const PlanOutcome outcome = outcome_of(*config.plan);
  return outcome == PlanOutcome::needs_driver || outcome == PlanOutcome::needs_compiler;
}

bool works(const EngineConfigFindings& config, const WalkFindings& findings) {
  if (!config.check.supported || config.left_out) return false;
  if (findings.plans_run) return is_built(config) && config.run && ran(*config.run);
  // Programs do not use configs that no heuristic proposes, so the check does not suffice for them.
  const bool rests_on_check = !findings.plans_built || is_left_open(config);
  return is_built(config) || (rests_on_check && !config.modes.empty());
}

const EngineConfigFindings* first_working(const WalkFindings& findings) {
  const auto& configs = findings.engine_configs;
  const auto found =
      std::find_if(configs.begin(), configs.end(), [&](const auto& config) { return works(config, findings); });
  return found == configs.end() ? nullptr : &*found;
}

bool has_working_config(const WalkFindings& findings) {
  return first_working(findings) != nullptr;
}

std::optional<size_t> next_plan(const WalkFindings& findings, Plans plans) {
  // If one knob value fails to compile, its neighbours usually fail too, at a second each.
  constexpr int most_of_an_engine = 4;
  const auto& configs = findings.engine_configs;
  const bool every = plans == Plans::build || plans == Plans::run;
  std::map<int64_t, int> tried;  // limit for configs that no heuristic proposes
  std::optional<size_t> next;
  for (size_t i = 0; i < configs.size(); ++i) {
    const EngineConfigFindings& config = configs[i];
    // If one plan needs the driver or NVRTC, the others do too.
    if (!every && (is_built(config) || is_left_open(config))) return std::nullopt;
    if (config.plan && config.modes.empty()) ++tried[config.engine];
    if (next || config.plan || !config.check.supported || config.left_out) continue;
    if (every || !config.modes.empty() || tried[config.engine] < most_of_an_engine) next = i;
  }
  return next;
}

Stage::Stage(Step step_, const std::string& what, int64_t engine_, Knobs knobs_)
    : step(step_),
      text(fmt::format("{} of engine {} {}", what, engine_, Json(knobs_).dump())),
      engine(engine_),
      knobs(std::move(knobs_)) {}

void sort_engine_configs(WalkFindings& findings, const WalkOptions& options) {
  std::vector<std::string> modes;
  for (const auto& named : options.named) modes.push_back(named.mode);
  modes.insert(modes.end(), options.modes.begin(), options.modes.end());
  auto place = [&](const EngineConfigFindings& config) {
    for (size_t i = 0; i < modes.size(); ++i) {
      if (std::find(config.modes.begin(), config.modes.end(), modes[i]) == config.modes.end()) continue;
      const auto rank = config.rank.find(modes[i]);
      return std::pair(i, rank == config.rank.end() ? std::numeric_limits<int64_t>::max() : rank->second);
    }
    return std::pair(modes.size(), int64_t{0});
  };
  std::stable_sort(findings.engine_configs.begin(), findings.engine_configs.end(),
                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
}

}  // namespace attnprobe::probe
