// What the machine code of a kernel says about itself: an ELF file of NVIDIA's, read without a GPU. Internal to lib/probe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "probe/findings.hpp"

namespace attnprobe::probe {

/// The kernels of a cubin by name. Registers and stack are in its section .nv.info (EIATTR_REGCOUNT, EIATTR_FRAME_SIZE),
/// threads in .nv.info.NAME (EIATTR_MAX_THREADS, EIATTR_REQNTID), static shared memory is the size of .nv.shared.NAME: as
/// `cuobjdump -res-usage` and `readelf -S` show. What is not there, or is no such file, is left out; never throws for it.
std::map<std::string, PlanKernel> kernels_of_cubin(std::string_view cubin);

}  // namespace attnprobe::probe
