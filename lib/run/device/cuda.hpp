// The CUDA driver API, loaded at run time (the machine may have none), with its handles owned.
#pragma once

#include <cuda.h>

#include <string>

#include "run/device/device.hpp"

namespace attnprobe::run {

/// The driver functions that running plans takes, under their CUDA 12 names.
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
  X(cuGetErrorName) X(cuGetErrorString)
// clang-format on
#define ATTNPROBE_MEMBER(name) decltype(&::name) name = nullptr;  // NOLINT(bugprone-macro-parentheses)
  ATTNPROBE_CUDA_FUNCTIONS(ATTNPROBE_MEMBER)
#undef ATTNPROBE_MEMBER

  /// "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)".
  std::string text(CUresult status) const;
  /// Throws Error(cuda) with what was being done and CUDA's words.
  void check(CUresult status, const char* what) const;
};

/// The machine's driver. Throws Error(environment) if there is none.
const CudaApi& cuda_api();

/// The first GPU that CUDA shows to this process: its primary context,
/// which cuDNN uses too, one stream, and the kernels compiled for it.
class CudaDevice : public Device {
 public:
  /// Throws Error(environment) without a GPU or NVRTC, Error(cuda) otherwise.
  CudaDevice();
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

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

  CUstream stream() const { return stream_; }
  std::string name() const;
  int attribute(CUdevice_attribute attribute) const;
  /// A kernel of gpu_kernels.cu that kernels.hpp has not.
  CUfunction function(const char* name) const;
  void launch_function(CUfunction function, unsigned grid, unsigned block, void** args);

 private:
  void launch_bytes(Kernel kernel, const void* args, size_t bytes, int64_t threads) override;
  void launch_matmul(const void* args);

  const CudaApi& api_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  CUmodule module_ = nullptr;
  std::vector<CUfunction> kernels_;
  CUfunction tiled_matmul_ = nullptr;
};

/// The machine code of kernels.hpp and gpu_kernels.cu for compute capability `sm` (90), by NVRTC. Needs no GPU. Throws
/// Error(environment) if there is no NVRTC, Error(internal) with the compiler's words.
std::vector<char> compile_kernels(int sm);

}  // namespace attnprobe::run
