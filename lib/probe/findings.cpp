#include "attnprobe/probe/findings.hpp"

#include <algorithm>

namespace attnprobe::probe {

bool works(const EngineConfigFindings& config, bool plans_built) {
  if (!config.check.supported) return false;
  return !plans_built || (config.plan && config.plan->status == "CUDNN_STATUS_SUCCESS");
}

bool has_working_config(const WalkFindings& findings) {
  return std::any_of(findings.engine_configs.begin(), findings.engine_configs.end(),
                     [&](const auto& config) { return works(config, findings.plans_built); });
}

}  // namespace attnprobe::probe
