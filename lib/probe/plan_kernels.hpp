// The kernels of a compiled plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probe/findings.hpp"

namespace attnprobe::probe {

/// Of a plan as cuDNN gives it (CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION): /engine/payload/kernels, each with its
/// kernelName and its machine code, cubin, in base64 (measured, 9.8 to 9.28). Without code only the name is known; a
/// text that is something else has none. `dynamic_shared_memory_bytes` is what a launch adds (the engine config's); the GPU
/// is described in the plan (/GPUProfile).
std::vector<PlanKernel> plan_kernels(const std::string& plan_json,
                                     std::optional<int64_t> dynamic_shared_memory_bytes = {});

/// The identity of all of them together, "06cae4f45057998b+9229d7e592eef006": equal for plans that execute the same
/// kernels. "" for none.
std::string identity_of(const std::vector<PlanKernel>& kernels);

}  // namespace attnprobe::probe
