// Reads the resource usage of kernels from their machine code, an NVIDIA ELF file, without a GPU. Internal to
// lib/probe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "probe/findings.hpp"

namespace attnprobe::probe {

/// The kernels of a cubin by name. Registers and stack come from its section .nv.info (EIATTR_REGCOUNT,
/// EIATTR_FRAME_SIZE), threads from .nv.info.NAME (EIATTR_MAX_THREADS, EIATTR_REQNTID). Static shared memory is the
/// size of .nv.shared.NAME. `cuobjdump -res-usage` and `readelf -S` show the same. The identity is the digest of
/// .text.NAME and of the file's constants and initial data, without names and dates. Missing values are omitted.
/// Returns nothing for other files; never throws.
std::map<std::string, PlanKernel> kernels_of_cubin(std::string_view cubin);

}  // namespace attnprobe::probe
