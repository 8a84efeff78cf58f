// The GPUs that attnprobe can simulate: the files of configs/targets, built into the library.
#pragma once

#include "gpu/target.hpp"

namespace attnprobe::gpu {

/// All targets, by SM and then by id.
const std::vector<Target>& catalogue();

/// Finds a target by id, alias or name, in loose spelling ("rtx4090", "RTX 4090", "4090"); nullptr if none or several
/// match.
const Target* find(const std::string& id);

/// The catalogue's entry for the same GPU, found by id or alias. Devices are found by the name that CUDA reports.
/// nullptr if there is none.
const Target* twin(const Target& target);

/// A GPU's name in results: the catalogue id of the same GPU, "h100", otherwise the name that CUDA reports.
std::string id_or_name(const Target& target);

/// The matmul rates (Target::matmul_rates) of a GPU, given the name that CUDA reports and the compute capability. Uses
/// the catalogue's entry with that name, otherwise an entry with the same chip; empty without either. GeForce boards
/// accumulate in f32 (as attention does) at half the tensor-core rate of other boards with the chip.
std::map<std::string, int> matmul_rates(const std::string& name, int sm);

/// Adds a target to those of --target, without duplicates. Throws Error(usage) if a different target has the same id,
/// naming the places of both.
void add_target(std::vector<Target>& targets, Target target);

/// The simulated targets that a --target value names. Each part of the comma-separated list is a GPU (find), an
/// architecture or a compute capability ("hopper", "sm_90", "9.0"). Also allowed: "all", "representative", "each-sm"
/// (one GPU per compute capability), or a target file (contains "/" or ends in ".json"). Throws Error(usage) with a
/// "did you mean".
std::vector<Target> simulated_targets(const std::string& selection);

}  // namespace attnprobe::gpu
