// The CUDA driver of this process: the machine's own, or the null driver that stands in for it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.hpp"

namespace attnprobe::gpu {

/// A GPU that the machine's driver shows.
struct Gpu {
  int index = 0;
  std::string name;
  std::string uuid;  ///< "GPU-…", what CUDA_VISIBLE_DEVICES takes
  int sm = 0;
  int64_t memory_bytes = 0;
  int memory_bus_bits = 0;
};
ATTNPROBE_JSON(Gpu, index, name, uuid, sm, memory_bytes, memory_bus_bits)

struct DriverInfo {
  bool found = false;    ///< libcuda.so.1 loads
  std::string path;      ///< where from
  int version = 0;       ///< cuDriverGetVersion: 13000
  bool is_stub = false;  ///< the toolkit's link-time stub, or the null driver: no GPU behind it
  std::vector<Gpu> gpus;
  std::string problem;  ///< why there is no driver or no GPU; "" if there is one
};
ATTNPROBE_JSON(DriverInfo, found, path, version, is_stub, gpus, problem)

/// Loads the machine's libcuda.so.1 into this process and asks it. Call it in a process of its own: the driver stays
/// loaded, and a broken one may take the process down.
DriverInfo inspect_driver();

/// The null driver's file: ATTNPROBE_NULL_DRIVER, beside the program or one folder up (a build), or in lib/attnprobe of
/// the prefix that the program is installed in. "" if it is nowhere.
std::filesystem::path find_null_driver();

/// Loads the null driver in place of libcuda.so.1, before cuDNN is loaded. Support checks then see a driver, and plans
/// compile; nothing can run. Never in a process that works on a real GPU. Throws Error(environment) if the file is
/// missing, does not load, or a driver is loaded already.
void load_null_driver();

/// Whether load_null_driver() was called in this process.
bool has_null_driver();

}  // namespace attnprobe::gpu
