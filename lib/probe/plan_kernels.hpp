// The kernels of a compiled plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probe/findings.hpp"

namespace attnprobe::probe {

/// The kernels in a plan's JSON from cuDNN (CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION): /engine/payload/kernels,
/// each with kernelName and cubin, the machine code in base64 (measured, 9.8 to 9.28). Without code only the name is
/// known; other texts have no kernels. `dynamic_shared_memory_bytes` is what a launch adds (the engine config's); the
/// GPU is described in the plan (/GPUProfile).
std::vector<PlanKernel> plan_kernels(const std::string& plan_json,
                                     std::optional<int64_t> dynamic_shared_memory_bytes = {});

/// The identity of all kernels together, "06cae4f45057998b+9229d7e592eef006": equal for plans that execute the same
/// kernels. "" without kernels.
std::string identity_of(const std::vector<PlanKernel>& kernels);

}  // namespace attnprobe::probe
