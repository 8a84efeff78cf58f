// The kernels of a compiled plan. Internal to lib/probe.
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

}  // namespace attnprobe::probe
