#include "gpu/driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "base/dynamic_library.hpp"
#include "base/error.hpp"

namespace attnprobe::gpu {
namespace {

namespace fs = std::filesystem;

// The driver API as in cuda.h, which no runtime package includes.
using CuResult = int;
using CuDevice = int;
constexpr CuResult cuda_success = 0;
constexpr CuResult cuda_error_stub_library = 34;
constexpr int compute_capability_major = 75, compute_capability_minor = 76,
              memory_bus_width = 37;  // CUdevice_attribute

struct DriverApi {
  CuResult (*init)(unsigned) = nullptr;
  CuResult (*version)(int*) = nullptr;
  CuResult (*count)(int*) = nullptr;
  CuResult (*get)(CuDevice*, int) = nullptr;
  CuResult (*name)(char*, int, CuDevice) = nullptr;
  CuResult (*attribute)(int*, int, CuDevice) = nullptr;
  CuResult (*memory)(size_t*, CuDevice) = nullptr;
  CuResult (*uuid)(std::array<unsigned char, 16>*, CuDevice) = nullptr;
  CuResult (*error_string)(CuResult, const char**) = nullptr;
};

std::string uuid_text(const std::array<unsigned char, 16>& bytes) {
  std::string text = "GPU-";
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", bytes[i]);
  }
  return text;
}

Gpu ask(const DriverApi& api, int index) {
  Gpu gpu;
  gpu.index = index;
  CuDevice device = 0;
  api.get(&device, index);
  std::array<char, 256> name{};
  api.name(name.data(), static_cast<int>(name.size()) - 1, device);
  gpu.name = name.data();
  int major = 0, minor = 0;
  api.attribute(&major, compute_capability_major, device);
  api.attribute(&minor, compute_capability_minor, device);
  gpu.sm = major * 10 + minor;
  api.attribute(&gpu.memory_bus_bits, memory_bus_width, device);
  size_t memory = 0;
  api.memory(&memory, device);
  gpu.memory_bytes = static_cast<int64_t>(memory);
  std::array<unsigned char, 16> uuid{};
  if (api.uuid(&uuid, device) == cuda_success) gpu.uuid = uuid_text(uuid);
  return gpu;
}

std::string path_of(const DynamicLibrary& library) {
  std::error_code ignored;
  const fs::path real = fs::canonical(library.path(), ignored);
  return real.empty() ? library.path().string() : real.string();
}

constexpr const char* null_driver_mark = "attnprobe_null_driver_version";

}  // namespace

DriverInfo inspect_driver() {
  DriverInfo info;
  const DynamicLibrary library("libcuda.so.1");
  if (!library) {
    info.problem = fmt::format("no CUDA driver (libcuda.so.1): {}", loader_words());
    return info;
  }
  library.keep();
  info.found = true;
  info.path = path_of(library);
  DriverApi api;
  if (!library.find("cuInit", api.init) || !library.find("cuDriverGetVersion", api.version) ||
      !library.find("cuDeviceGetCount", api.count) || !library.find("cuDeviceGet", api.get) ||
      !library.find("cuDeviceGetName", api.name) || !library.find("cuDeviceGetAttribute", api.attribute) ||
      !library.find("cuDeviceTotalMem_v2", api.memory) || !library.find("cuDeviceGetUuid", api.uuid) ||
      !library.find("cuGetErrorString", api.error_string)) {
    info.problem = fmt::format("{} is not a CUDA driver: it lacks driver functions", info.path);
    return info;
  }
  api.version(&info.version);
  const CuResult status = api.init(0);
  info.is_stub = status == cuda_error_stub_library || library.find(null_driver_mark) != nullptr;
  if (status != cuda_success) {
    const char* words = nullptr;
    api.error_string(status, &words);
    info.problem = info.is_stub ? fmt::format("{} is a stub without a GPU", info.path)
                                : fmt::format("the CUDA driver does not start: cuInit gave {} ({})", status,
                                              words == nullptr ? "no text" : words);
    return info;
  }
  int count = 0;
  api.count(&count);
  for (int i = 0; i < count; ++i) info.gpus.push_back(ask(api, i));
  if (count == 0) info.problem = "the CUDA driver shows no GPU";
  return info;
}

fs::path find_null_driver() {
  constexpr const char* name = "libattnprobe_null_driver.so";
  std::error_code ignored;
  if (const char* given = std::getenv("ATTNPROBE_NULL_DRIVER")) return fs::exists(given, ignored) ? given : "";
  const fs::path self = fs::canonical("/proc/self/exe", ignored).parent_path();
  // Installed trees may be moved, so the paths are relative to the program: next to or above it in a build folder, or
  // as installed.
  for (const fs::path& file : {self / name, self / ".." / name, self / ATTNPROBE_LIB_FROM_BIN / "attnprobe" / name})
    if (fs::exists(file, ignored)) return file.lexically_normal();
  return {};
}

bool has_null_driver() {
  const DynamicLibrary present("libcuda.so.1", RTLD_NOLOAD);
  return present && present.find(null_driver_mark) != nullptr;
}

void load_null_driver() {
  const DynamicLibrary present("libcuda.so.1", RTLD_NOLOAD);
  if (present && present.find(null_driver_mark) == nullptr)
    throw Error(ErrorKind::environment,
                fmt::format("a CUDA driver is already loaded ({}), so no GPU can be simulated in this process",
                            path_of(present)));
  const fs::path file = find_null_driver();
  if (file.empty())
    throw Error(ErrorKind::environment,
                "the null driver (libattnprobe_null_driver.so), which simulated GPUs need, is missing: reinstall "
                "attnprobe or name it with ATTNPROBE_NULL_DRIVER");
  const DynamicLibrary driver(file, RTLD_GLOBAL);
  if (!driver || driver.find(null_driver_mark) == nullptr)
    throw Error(ErrorKind::environment, fmt::format("{} is not attnprobe's null driver: {}", file.string(),
                                                    driver ? "no marker symbol" : loader_words()));
  driver.keep();
}

}  // namespace attnprobe::gpu
