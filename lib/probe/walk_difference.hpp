// Compares the findings of two walks of a graph.
#pragma once

#include <string>
#include <vector>

#include "probe/findings.hpp"

namespace attnprobe::probe {

/// "engine 2 KERNEL_CFG=7".
std::string config_name(int64_t engine, const Knobs& knobs);

/// The innermost line of the reasons for rejecting the engine config, or only the status if cuDNN gave none.
Reason innermost_reason(const EngineConfigFindings& config);

/// The differences between `now` and `before`, one per line, for the modes that both asked. Compares candidates, viable
/// ones, engines and knobs, ranks, verdicts, innermost reasons, and whether the graph itself was refused.
std::vector<std::string> walk_differences(const WalkFindings& before, const WalkFindings& now);

}  // namespace attnprobe::probe
