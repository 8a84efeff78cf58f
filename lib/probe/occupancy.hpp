// How many blocks of a kernel a multiprocessor holds at a time: arithmetic, no GPU.
#pragma once

#include <cstdint>
#include <optional>

#include "base/json.hpp"
#include "probe/findings.hpp"

namespace attnprobe::probe {

/// `properties`: of the GPU, as in a device property descriptor. Limits as in NVIDIA's occupancy calculator (compute
/// capability 7.0 to 12.x). A warp gets registers in portions of 256, and 4 warps at a time get theirs. Shared memory
/// comes in portions of 128 bytes. Returns none if the kernel or the properties lack a number.
std::optional<int64_t> blocks_per_sm(const PlanKernel& kernel, int64_t dynamic_shared_memory_bytes,
                                     const Json& properties);

}  // namespace attnprobe::probe
