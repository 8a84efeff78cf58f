// How many blocks of a kernel fit on a multiprocessor at a time, computed without a GPU.
#pragma once

#include <cstdint>
#include <optional>

#include "base/json.hpp"
#include "probe/findings.hpp"

namespace attnprobe::probe {

/// `properties`: of the GPU, as in a device property descriptor. Limits as in NVIDIA's occupancy calculator (compute
/// capability 7.0 to 12.x). Registers are allocated in units of 256 per warp, for 4 warps at a time; shared memory in
/// units of 128 bytes. None if the kernel or the properties lack a number.
std::optional<int64_t> blocks_per_sm(const PlanKernel& kernel, int64_t dynamic_shared_memory_bytes,
                                     const Json& properties);

}  // namespace attnprobe::probe
