// The kernels of a compiled plan. Internal to lib/probe.
#pragma once

#include <string>
#include <vector>

#include "probe/findings.hpp"

namespace attnprobe::probe {

/// Reads the kernels from cuDNN's JSON of a plan (CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION):
/// /engine/payload/kernels, each with kernelName and its machine code, cubin, in base64 (measured, 9.8 to 9.28).
/// Without code only the name is known. Returns none for any other text.
std::vector<PlanKernel> plan_kernels(const std::string& plan_json);

}  // namespace attnprobe::probe
