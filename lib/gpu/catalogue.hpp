// The GPUs that attnprobe can simulate: the files of configs/targets, built into the library.
#pragma once

#include "target.hpp"

namespace attnprobe::gpu {

/// All of them, by SM and then by id.
const std::vector<Target>& catalogue();

/// By id or alias; nullptr if there is none.
const Target* find(const std::string& id);

/// The catalogue's entry for the same GPU: by id or alias, or, for a
/// device, by the name that CUDA reports. nullptr if there is none.
const Target* twin(const Target& target);

/// Simulated targets as --target names them: an id or alias, "all", "representative", a comma list of these, or a file
/// of one's own (anything with a "/" or ending in ".json"). Throws Error(usage) with a "did you mean".
std::vector<Target> simulated_targets(const std::string& selection);

}  // namespace attnprobe::gpu
