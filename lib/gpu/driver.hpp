// This process's CUDA driver: the machine's own, or the null driver that replaces it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.hpp"

namespace attnprobe::gpu {

/// A GPU that the machine's driver lists.
struct Gpu {
  int index = 0;
  std::string name;
  std::string uuid;  ///< "GPU-…", as CUDA_VISIBLE_DEVICES accepts it
  int sm = 0;
  int64_t memory_bytes = 0;
  int memory_bus_bits = 0;
};
ATTNPROBE_JSON(Gpu, index, name, uuid, sm, memory_bytes, memory_bus_bits)

struct DriverInfo {
  bool found = false;    ///< libcuda.so.1 loads
  std::string path;      ///< the loaded file
  int version = 0;       ///< cuDriverGetVersion: 13000
  bool is_stub = false;  ///< it is the toolkit's link-time stub or the null driver, so there is no GPU
  std::vector<Gpu> gpus;
  std::string problem;  ///< why the driver or a GPU is missing; "" if neither is
};
ATTNPROBE_JSON(DriverInfo, found, path, version, is_stub, gpus, problem)

/// Loads the machine's libcuda.so.1 into this process and queries it. Call it in a separate process: the driver stays
/// loaded, and a broken one may crash the process.
DriverInfo inspect_driver();

/// The null driver's file: ATTNPROBE_NULL_DRIVER, next to the program or one folder up (a build), or in lib/attnprobe
/// of the program's install prefix. "" if it is missing.
std::filesystem::path find_null_driver();

/// Loads the null driver as libcuda.so.1, before cuDNN is loaded. Then support checks find a driver and plans compile,
/// but nothing can run. Never call it in a process that uses a real GPU. Throws Error(environment) if the file is
/// missing, does not load, or a driver is already loaded.
void load_null_driver();

/// Whether load_null_driver() was called in this process.
bool has_null_driver();

}  // namespace attnprobe::gpu
