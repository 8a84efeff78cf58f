// The CUDA driver API, loaded at run time because the machine may lack it, with owned handles.
#pragma once

#include <cuda.h>
#include <functional>

#include <optional>
#include <string>
#include <utility>

#include "run/device/device.hpp"

namespace attnprobe::run::kernels {
struct MatmulArgs;
}

namespace attnprobe::run {

/// The driver functions for running plans, under their CUDA 12 names.
struct CudaApi {
// clang-format off
#define ATTNPROBE_CUDA_FUNCTIONS(X) \
  X(cuInit) X(cuDeviceGet) X(cuDeviceGetAttribute) X(cuDeviceGetName) X(cuDevicePrimaryCtxRetain) \
  X(cuDevicePrimaryCtxRelease) X(cuCtxSetCurrent) X(cuMemGetInfo) X(cuMemAlloc) X(cuMemFree) \
  X(cuMemHostAlloc) X(cuMemFreeHost) X(cuMemcpyHtoDAsync) X(cuMemcpyDtoHAsync) X(cuMemcpyDtoDAsync) \
  X(cuMemsetD8Async) X(cuStreamCreate) X(cuStreamDestroy) X(cuStreamSynchronize) \
  X(cuStreamBeginCapture) X(cuStreamEndCapture) X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) \
  X(cuEventElapsedTime) X(cuModuleLoadData) X(cuModuleUnload) X(cuModuleGetFunction) X(cuLaunchKernel) \
  X(cuGraphInstantiateWithFlags) X(cuGraphLaunch) X(cuGraphDestroy) X(cuGraphExecDestroy) \
  X(cuGraphGetNodes) X(cuGraphNodeGetType) X(cuGraphKernelNodeGetParams) X(cuGraphNodeSetEnabled) \
  X(cuKernelGetFunction) X(cuFuncGetAttribute) \
  X(cuGetErrorName) X(cuGetErrorString)
// clang-format on
#define ATTNPROBE_MEMBER(name) decltype(&::name) name = nullptr;  // NOLINT(bugprone-macro-parentheses)
  ATTNPROBE_CUDA_FUNCTIONS(ATTNPROBE_MEMBER)
#undef ATTNPROBE_MEMBER
  /// From CUDA 12.3; nullptr if the driver lacks it.
  CUresult (*cuFuncGetName)(const char** name, CUfunction function) = nullptr;

  /// "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)".
  std::string text(CUresult status) const;
  /// Throws Error(cuda) with the attempted action and CUDA's message.
  void check(CUresult status, const char* what) const;
};

/// The machine's driver. Throws Error(environment) if there is none.
const CudaApi& cuda_api();

/// An owned driver handle; the destructor releases it with `give_back`. After a sticky error `give_back` fails, but
/// then the process ends anyway.
template <class Handle, auto give_back>
class CudaHandle {
 public:
  CudaHandle() = default;
  explicit CudaHandle(Handle handle) : handle_(handle) {}
  ~CudaHandle() { reset(); }
  CudaHandle(CudaHandle&& other) noexcept : handle_(std::exchange(other.handle_, std::nullopt)) {}
  CudaHandle& operator=(CudaHandle&& other) noexcept {
    if (this == &other) return *this;
    reset();
    handle_ = std::exchange(other.handle_, std::nullopt);
    return *this;
  }
  CudaHandle(const CudaHandle&) = delete;
  CudaHandle& operator=(const CudaHandle&) = delete;

  Handle get() const { return *handle_; }
  explicit operator bool() const { return handle_.has_value(); }

 private:
  void reset() noexcept {
    if (handle_) (cuda_api().*give_back)(*handle_);
    handle_.reset();
  }
  std::optional<Handle> handle_;
};
using CudaEvent = CudaHandle<CUevent, &CudaApi::cuEventDestroy>;
using CudaGraph = CudaHandle<CUgraph, &CudaApi::cuGraphDestroy>;
using CudaGraphExec = CudaHandle<CUgraphExec, &CudaApi::cuGraphExecDestroy>;
using CudaModule = CudaHandle<CUmodule, &CudaApi::cuModuleUnload>;
using CudaStream = CudaHandle<CUstream, &CudaApi::cuStreamDestroy>;
/// A device with its retained primary context.
using CudaPrimaryContext = CudaHandle<CUdevice, &CudaApi::cuDevicePrimaryCtxRelease>;

/// The first GPU visible to this process: its primary context, which cuDNN also uses, one stream, and attnprobe's
/// compiled kernels.
class CudaDevice : public Device {
 public:
  /// Throws Error(environment) without a GPU or NVRTC, Error(cuda) otherwise.
  CudaDevice();
  void* allocate(size_t bytes) override;
  void release(void* memory) noexcept override;
  size_t free_bytes() const override;
  void set_bytes(void* memory, unsigned char value, size_t bytes) override;
  void copy_in(void* memory, const void* host, size_t bytes) override;
  void copy_out(void* host, const void* memory, size_t bytes) override;
  void copy(void* to, const void* from, size_t bytes) override;
  void wait() override;
  int64_t threads_for(int64_t elements) const override;
  int64_t counters() const override { return int64_t{32} * 1024; }
  DataType real() const override { return DataType::f32; }

  CUstream stream() const { return stream_.get(); }
  std::string name() const;
  int attribute(CUdevice_attribute attribute) const;
  /// A kernel that only gpu_kernels.cu has, not kernels.hpp.
  CUfunction function(const char* name) const;
  void launch_function(CUfunction function, unsigned grid, unsigned block, void** args);

 private:
  void launch_bytes(Kernel kernel, const void* args, size_t bytes, int64_t threads) override;
  void launch_matmul(const void* args);
  CUfunction matmul_for(const kernels::MatmulArgs& args) const;

  const CudaApi& api_;
  CUdevice device_ = 0;
  // Separate members, so that everything is released if the constructor throws.
  CudaPrimaryContext context_;
  CudaStream stream_;
  CudaModule module_;
  std::vector<CUfunction> kernels_;
  // Of gpu_kernels.cu.
  CUfunction matmul_values_ = nullptr, matmul_both_exact_ = nullptr, matmul_b_exact_ = nullptr,
             matmul_inexact_ = nullptr;
};

/// Compiles kernels.hpp with its includes, and gpu_kernels.cu, to machine code for compute capability `sm` (90), by
/// NVRTC. Needs no GPU. Throws Error(environment) without NVRTC, Error(internal) with the compiler's message.
std::vector<char> compile_kernels(int sm);

/// The same, cached in a file of this user, attnprobe/kernels/sm_90-….cubin, for this source, these options and this
/// NVRTC. If the file is missing, only one process compiles and writes it, because compiling takes seconds and there
/// may be one process per core. Compiles without the cache if the file cannot be written or trusted. Throws like
/// compile_kernels(), which tests may replace.
std::vector<char> cached_kernels(int sm, const std::function<std::vector<char>(int)>& compile = compile_kernels);

}  // namespace attnprobe::run
