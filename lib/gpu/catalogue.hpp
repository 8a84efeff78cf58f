// The GPUs that attnprobe can simulate: the files of configs/targets, built into the library.
#pragma once

#include "target.hpp"

namespace attnprobe::gpu {

/// All of them, by SM and then by id.
const std::vector<Target>& catalogue();

/// By id, alias or name, as people type them ("rtx4090", "RTX 4090", "4090"); nullptr if there is none, or several.
const Target* find(const std::string& id);

/// The catalogue's entry for the same GPU: by id or alias, or, for a
/// device, by the name that CUDA reports. nullptr if there is none.
const Target* twin(const Target& target);

/// What results call a GPU: the id of its twin, "h100", or the name that CUDA reports where there is none.
std::string id_or_name(const Target& target);

/// The matmul rates (Target::matmul_rates) of a GPU by the name that CUDA reports and its compute capability: of the
/// catalogue's entry of that name, else of one with the same chip. GeForce boards accumulate in f32 at half the rate of
/// tensor cores that other boards with the same chip have, and attention does accumulate in f32. Empty where the
/// catalogue has no such chip.
std::map<std::string, int> matmul_rates(const std::string& name, int sm);

/// Adds a target to those that --target names, once. Throws Error(usage) where another one has its id, with the places
/// of both.
void add_target(std::vector<Target>& targets, Target target);

/// Simulated targets as --target names them: a GPU (find), an architecture or compute capability ("hopper", "sm_90",
/// "9.0"), "all", "representative", "each-sm" (one GPU of each compute capability), a comma list of these, or a file of
/// one's own (anything with a "/" or ending in ".json"). Throws Error(usage) with a "did you mean".
std::vector<Target> simulated_targets(const std::string& selection);

}  // namespace attnprobe::gpu
