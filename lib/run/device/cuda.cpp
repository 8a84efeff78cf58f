#include "run/device/cuda.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/dynamic_library.hpp"
#include "base/error.hpp"
#include "run/device/kernels.hpp"

namespace attnprobe::run {
namespace {

constexpr unsigned block_size = 256;

// Functions whose signature changed have a suffixed entry point; cuda.h's macros have the right name.
#define ATTNPROBE_TEXT2(name) #name
#define ATTNPROBE_TEXT(name) ATTNPROBE_TEXT2(name)

CudaApi load_api() {
  CudaApi api;
  const DynamicLibrary library("libcuda.so.1");
  if (!library) throw Error(ErrorKind::environment, fmt::format("no CUDA driver (libcuda.so.1): {}", loader_words()));
  library.keep();
#define ATTNPROBE_LOAD(name) \
  library.bind(ATTNPROBE_TEXT(name), api.name, "the CUDA driver is older than CUDA 12, or a stub");
  ATTNPROBE_CUDA_FUNCTIONS(ATTNPROBE_LOAD)
#undef ATTNPROBE_LOAD
  library.find("cuFuncGetName", api.cuFuncGetName);
  return api;
}

const char* name_of_kernel(Kernel kernel) {
  switch (kernel) {
#define ATTNPROBE_NAME(name, Args) \
  case Kernel::name:               \
    return "entry_" #name;
    ATTNPROBE_KERNELS(ATTNPROBE_NAME)
#undef ATTNPROBE_NAME
  }
  return "";
}

CUdeviceptr pointer(const void* memory) {
  return reinterpret_cast<CUdeviceptr>(memory);
}

}  // namespace

std::string CudaApi::text(CUresult status) const {
  const char *name = nullptr, *words = nullptr;
  cuGetErrorName(status, &name);
  cuGetErrorString(status, &words);
  return fmt::format("{} ({})", name == nullptr ? fmt::format("CUDA error {}", static_cast<int>(status)) : name,
                     words == nullptr ? "no text" : words);
}

void CudaApi::check(CUresult status, const char* what) const {
  if (status != CUDA_SUCCESS) throw Error(ErrorKind::cuda, fmt::format("{}: {}", what, text(status)));
}

const CudaApi& cuda_api() {
  static const CudaApi api = load_api();
  return api;
}

CudaDevice::CudaDevice() : api_(cuda_api()) {
  const CUresult status = api_.cuInit(0);
  if (status != CUDA_SUCCESS)
    throw Error(ErrorKind::environment, "the CUDA driver does not start: " + api_.text(status));
  api_.check(api_.cuDeviceGet(&device_, 0), "cuDeviceGet");
  CUcontext context = nullptr;
  api_.check(api_.cuDevicePrimaryCtxRetain(&context, device_), "cuDevicePrimaryCtxRetain");
  context_ = CudaPrimaryContext(device_);
  api_.check(api_.cuCtxSetCurrent(context), "cuCtxSetCurrent");
  CUstream stream = nullptr;
  api_.check(api_.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  stream_ = CudaStream(stream);
  const std::vector<char> code = cached_kernels(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
                                                attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  CUmodule module = nullptr;
  api_.check(api_.cuModuleLoadData(&module, code.data()), "loading attnprobe's kernels");
  module_ = CudaModule(module);
#define ATTNPROBE_FUNCTION(name, Args) kernels_.push_back(function(name_of_kernel(Kernel::name)));
  ATTNPROBE_KERNELS(ATTNPROBE_FUNCTION)
#undef ATTNPROBE_FUNCTION
  matmul_values_ = function("matmul_values");
  matmul_both_exact_ = function("matmul_both_exact");
  matmul_b_exact_ = function("matmul_b_exact");
  matmul_inexact_ = function("matmul_inexact");
}

int CudaDevice::attribute(CUdevice_attribute attribute) const {
  int value = 0;
  api_.check(api_.cuDeviceGetAttribute(&value, attribute, device_), "cuDeviceGetAttribute");
  return value;
}

std::string CudaDevice::name() const {
  std::array<char, 256> name{};
  api_.check(api_.cuDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device_), "cuDeviceGetName");
  return name.data();
}

CUfunction CudaDevice::function(const char* name) const {
  CUfunction function = nullptr;
  api_.check(api_.cuModuleGetFunction(&function, module_.get(), name), name);
  return function;
}

void* CudaDevice::allocate(size_t bytes) {
  CUdeviceptr memory = 0;
  const CUresult status = api_.cuMemAlloc(&memory, bytes);
  if (status == CUDA_ERROR_OUT_OF_MEMORY)
    throw Error(ErrorKind::environment,
                fmt::format("not enough GPU memory: {} MiB needed, {} MiB free", bytes >> 20, free_bytes() >> 20));
  api_.check(status, "cuMemAlloc");
  return reinterpret_cast<void*>(memory);
}

void CudaDevice::release(void* memory) noexcept {
  api_.cuMemFree(pointer(memory));
}

size_t CudaDevice::free_bytes() const {
  size_t free = 0, total = 0;
  api_.check(api_.cuMemGetInfo(&free, &total), "cuMemGetInfo");
  return free;
}

void CudaDevice::set_bytes(void* memory, unsigned char value, size_t bytes) {
  api_.check(api_.cuMemsetD8Async(pointer(memory), value, bytes, stream()), "cuMemsetD8Async");
}

void CudaDevice::copy_in(void* memory, const void* host, size_t bytes) {
  api_.check(api_.cuMemcpyHtoDAsync(pointer(memory), host, bytes, stream()), "cuMemcpyHtoDAsync");
  wait();
}

void CudaDevice::copy_out(void* host, const void* memory, size_t bytes) {
  api_.check(api_.cuMemcpyDtoHAsync(host, pointer(memory), bytes, stream()), "cuMemcpyDtoHAsync");
  wait();
}

void CudaDevice::copy(void* to, const void* from, size_t bytes) {
  api_.check(api_.cuMemcpyDtoDAsync(pointer(to), pointer(from), bytes, stream()), "cuMemcpyDtoDAsync");
}

void CudaDevice::wait() {
  api_.check(api_.cuStreamSynchronize(stream()), "cuStreamSynchronize");
}

int64_t CudaDevice::threads_for(int64_t elements) const {
  constexpr int64_t most = int64_t{1} << 22;  // enough for several waves on any GPU; kernels loop over the rest
  return std::clamp<int64_t>(elements, 1, most);
}

void CudaDevice::launch_function(CUfunction function, unsigned grid, unsigned block, void** args) {
  api_.check(api_.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream(), args, nullptr), "cuLaunchKernel");
}

// Exact inputs need no variance.
CUfunction CudaDevice::matmul_for(const kernels::MatmulArgs& g) const {
  const auto is_exact = [](const kernels::View& v) { return v.error == 0 && v.unit == 0; };
  if (g.c.error == 0) return matmul_values_;
  if (!is_exact(g.b)) return matmul_inexact_;
  return is_exact(g.a) ? matmul_both_exact_ : matmul_b_exact_;
}

void CudaDevice::launch_matmul(const void* args) {
  constexpr int64_t tile = 64, most_blocks = 65535;
  const auto& g = *static_cast<const kernels::MatmulArgs*>(args);
  // Rows use grid dimension y, which has the smaller limit: 4 million rows of scores exceed any memory.
  const int64_t columns = (g.c.dims[3] + tile - 1) / tile, rows = (g.c.dims[2] + tile - 1) / tile,
                matrices = std::min<int64_t>(g.c.dims[0] * g.c.dims[1], most_blocks);
  void* parameters[] = {const_cast<void*>(args)};
  api_.check(api_.cuLaunchKernel(matmul_for(g), static_cast<unsigned>(columns), static_cast<unsigned>(rows),
                                 static_cast<unsigned>(matrices), block_size, 1, 1, 0, stream(), parameters, nullptr),
             "cuLaunchKernel");
}

void CudaDevice::launch_bytes(Kernel kernel, const void* args, size_t, int64_t threads) {
  if (kernel == Kernel::matmul) {
    launch_matmul(args);
    return;
  }
  // A counting kernel has one slot per thread, so there must not be more threads; counters() divides evenly.
  const auto block = static_cast<unsigned>(std::min<int64_t>(threads, block_size));
  const auto grid = static_cast<unsigned>((threads + block - 1) / block);
  void* parameters[] = {const_cast<void*>(args)};
  launch_function(kernels_[static_cast<size_t>(kernel)], grid, block, parameters);
}

}  // namespace attnprobe::run
