// Whether runs of an engine config give the same bits, judged without running it. cuDNN's numerical notes do not help:
// no backward engine has the note NONDETERMINISTIC, but their sums vary.
#pragma once

#include <string>

#include "build/build.hpp"
#include "probe/findings.hpp"

namespace attnprobe::probe {

/// Why runs of a config may differ in their bits, or "". "" if the graph requests a fixed summation order: the
/// deterministic form of a backward pass, or the gradient of a bias. Also "" for forward passes, unless measurements
/// showed variation. `config`: the engine config; nullptr: any.
std::string varying_sums(const attention::AttentionSpec& spec, const build::BuildContext& context,
                         const EngineConfigFindings* config);

/// How to get a fixed summation order, if the spec could request it but does not; otherwise "".
std::string advice_on_order(const attention::AttentionSpec& spec);

}  // namespace attnprobe::probe
