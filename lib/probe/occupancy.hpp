// How many blocks of a kernel a multiprocessor holds at a time: arithmetic, no GPU.
#pragma once

#include <cstdint>
#include <optional>

#include "base/json.hpp"
#include "probe/findings.hpp"

namespace attnprobe::probe {

/// `properties`: of the GPU, as in a device property descriptor. Limits and granularity as in NVIDIA's occupancy
/// calculator (compute capability 7.0 to 12.x): registers are given to a warp in portions of 256 and to 4 warps at a time,
/// shared memory in portions of 128 bytes. None where the kernel or the properties lack a number.
std::optional<int64_t> blocks_per_sm(const PlanKernel& kernel, int64_t dynamic_shared_memory_bytes,
                                     const Json& properties);

}  // namespace attnprobe::probe
