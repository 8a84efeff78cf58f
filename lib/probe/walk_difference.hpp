// Whether two walks of one graph say the same.
#pragma once

#include <string>
#include <vector>

#include "probe/findings.hpp"

namespace attnprobe::probe {

/// "engine 2 KERNEL_CFG=7".
std::string config_name(int64_t engine, const Knobs& knobs);

/// Why the engine config was rejected, as far as cuDNN said: the innermost line, else the status alone.
Reason innermost_reason(const EngineConfigFindings& config);

/// In what `now` differs from `before`, one line each, over the modes that both asked: candidates, viable ones, engines
/// and knobs, their ranks, verdicts and innermost reasons; whether the graph itself was refused. Empty if in nothing.
std::vector<std::string> walk_differences(const WalkFindings& before, const WalkFindings& now);

}  // namespace attnprobe::probe
