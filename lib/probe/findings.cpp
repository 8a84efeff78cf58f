#include "attnprobe/probe/findings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attnprobe::probe {

bool ran(const RunFindings& run) {
  return run.status == "ok" || run.status == "not_verified";
}

bool is_built(const EngineConfigFindings& config) {
  return config.plan && config.plan->status == "CUDNN_STATUS_SUCCESS";
}

bool works(const EngineConfigFindings& config, const WalkFindings& findings) {
  if (!config.check.supported) return false;
  if (findings.plans_run) return is_built(config) && config.run && ran(*config.run);
  return !findings.plans_built || is_built(config);
}

bool has_working_config(const WalkFindings& findings) {
  return std::any_of(findings.engine_configs.begin(), findings.engine_configs.end(),
                     [&](const auto& config) { return works(config, findings); });
}

std::string stage_of_plan(int64_t engine, const Knobs& knobs) {
  return fmt::format("plan of engine {} {}", engine, Json(knobs).dump());
}

}  // namespace attnprobe::probe
