// Whether runs of an engine config give the same bits, without running it. cuDNN's numerical notes do not tell: NONDETERMINISTIC is
// absent of every backward engine, the sums of which vary.
#pragma once

#include <string>

#include "build/build.hpp"
#include "probe/findings.hpp"

namespace attnprobe::probe {

/// Why runs of a config may differ in their bits; "" where its graph asks for a fixed order of sums (the deterministic form of a
/// backward pass, or the gradient of a bias), and for forward passes that were not measured to vary. `config`: the engine config;
/// nullptr: whichever.
std::string varying_sums(const attention::AttentionSpec& spec, const build::BuildContext& context,
                         const EngineConfigFindings* config);

/// What asks for a fixed order of sums, where the spec could ask for it and does not; else "".
std::string advice_on_order(const attention::AttentionSpec& spec);

}  // namespace attnprobe::probe
