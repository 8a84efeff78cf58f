// The null driver: a libcuda.so.1 for machines without a driver, or with a GPU other than the one asked about.
//
// cuDNN checks and compiles an attention kernel for any GPU whose properties it is given. The driver does only the last
// step of finalizing a plan. 9.8 always passes it the compiled code; 9.12 and later do so unless the driver counts no
// device. This library accepts code, ignores it and returns success. It answers "no device" to everything else, so that
// no program believes there is a GPU. So a plan is compiled, but not loaded.
//
// Load it with dlopen(path, RTLD_NOW | RTLD_GLOBAL) before cuDNN: cuDNN's own dlopen("libcuda.so.1") then finds it by
// its SONAME. It includes no CUDA header, so that it builds without a toolkit. Functions have their names in the CUDA
// driver API. Prototypes omit unused parameters where the calling convention allows it (on every 64-bit Unix the caller
// pops its own arguments).
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

typedef int CUresult;
enum { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1, CUDA_ERROR_NO_DEVICE = 100 };
typedef void (*Entry)(void);

// Distinguishes this library from a real driver: look it up with dlsym.
API extern const int attnprobe_null_driver_version;
const int attnprobe_null_driver_version = 1;

// ---- the driver's properties -------------------------------------------------------------

// A CUDA runtime refuses a driver older than itself, so the version is that of the newest known cuDNN build (CUDA 13).
// The environment can set a later one.
API CUresult cuDriverGetVersion(int* version) {
  if (!version) return CUDA_ERROR_INVALID_VALUE;
  *version = 13000;
  const char* text = getenv("ATTNPROBE_NULL_DRIVER_VERSION");
  if (text && *text) {
    char* end = NULL;
    const long value = strtol(text, &end, 10);
    if (*end == '\0' && value > 0 && value <= INT32_MAX) *version = (int)value;
  }
  return CUDA_SUCCESS;
}

API CUresult cuGetErrorName(CUresult error, const char** name) {
  if (!name) return CUDA_ERROR_INVALID_VALUE;
  *name = error == CUDA_SUCCESS ? "CUDA_SUCCESS" : "ATTNPROBE_NULL_DRIVER_NO_DEVICE";
  return CUDA_SUCCESS;
}

API CUresult cuGetErrorString(CUresult error, const char** text) {
  if (!text) return CUDA_ERROR_INVALID_VALUE;
  *text = error == CUDA_SUCCESS ? "no error" : "attnprobe null driver: no GPU here";
  return CUDA_SUCCESS;
}

API CUresult cuDeviceGetCount(int* count) {
  if (count) *count = 0;
  return CUDA_ERROR_NO_DEVICE;
}

// ---- code is accepted and ignored ----------------------------------------------------------------

// Opaque and distinct. Small numbers, so that dereferencing one faults immediately.
static CUresult new_handle(void** handle) {
  static atomic_uintptr_t last;
  if (!handle) return CUDA_ERROR_INVALID_VALUE;
  *handle = (void*)(atomic_fetch_add(&last, 1) + 1);
  return CUDA_SUCCESS;
}

static CUresult new_handle_for(void** handle, const void* source) {
  return source ? new_handle(handle) : CUDA_ERROR_INVALID_VALUE;
}

// Every attribute is 0: no registers, no shared or local memory.
static CUresult zero(int* value) {
  if (!value) return CUDA_ERROR_INVALID_VALUE;
  *value = 0;
  return CUDA_SUCCESS;
}

API CUresult cuLibraryLoadData(void** library, const void* code) {
  return new_handle_for(library, code);
}
API CUresult cuLibraryLoadFromFile(void** library, const char* path) {
  return new_handle_for(library, path);
}
API CUresult cuLibraryGetKernel(void** kernel, void* library) {
  return new_handle_for(kernel, library);
}
API CUresult cuLibraryGetModule(void** module, void* library) {
  return new_handle_for(module, library);
}
API CUresult cuLibraryUnload(void) {
  return CUDA_SUCCESS;
}
API CUresult cuKernelGetFunction(void** function, void* kernel) {
  return new_handle_for(function, kernel);
}
API CUresult cuKernelGetAttribute(int* value) {
  return zero(value);
}
API CUresult cuKernelSetAttribute(void) {
  return CUDA_SUCCESS;
}

API CUresult cuModuleLoad(void** module, const char* path) {
  return new_handle_for(module, path);
}
API CUresult cuModuleLoadData(void** module, const void* image) {
  return new_handle_for(module, image);
}
API CUresult cuModuleLoadDataEx(void** module, const void* image) {
  return new_handle_for(module, image);
}
API CUresult cuModuleLoadFatBinary(void** module, const void* image) {
  return new_handle_for(module, image);
}
API CUresult cuModuleGetFunction(void** function, void* module) {
  return new_handle_for(function, module);
}
API CUresult cuModuleUnload(void) {
  return CUDA_SUCCESS;
}
API CUresult cuFuncGetAttribute(int* value) {
  return zero(value);
}
API CUresult cuFuncSetAttribute(void) {
  return CUDA_SUCCESS;
}

// ---- everything else is refused -----------------------------------------------------------------

// Replaces every entry point that is not in this file.
static CUresult no_device(void) {
  return CUDA_ERROR_NO_DEVICE;
}

// If one name is missing, cuDNN refuses the whole libcuda ("cannot load libcuda"). These are the names that 9.8 to 9.28
// bind, and similar ones for later versions.
// clang-format off
#define REFUSED(X) \
  X(cuCtxCreate) X(cuCtxCreate_v2) X(cuCtxCreate_v3) X(cuCtxCreate_v4) X(cuCtxDestroy) X(cuCtxDestroy_v2)   \
  X(cuCtxFromGreenCtx) X(cuCtxGetApiVersion) X(cuCtxGetCurrent) X(cuCtxGetDevResource) X(cuCtxGetDevice)    \
  X(cuCtxGetFlags) X(cuCtxGetId) X(cuCtxGetLimit) X(cuCtxGetStreamPriorityRange) X(cuCtxPopCurrent)         \
  X(cuCtxPopCurrent_v2) X(cuCtxPushCurrent) X(cuCtxPushCurrent_v2) X(cuCtxSetCurrent) X(cuCtxSetLimit)      \
  X(cuCtxSynchronize) X(cuDevResourceGenerateDesc) X(cuDevSmResourceSplitByCount) X(cuDeviceCanAccessPeer)  \
  X(cuDeviceComputeCapability) X(cuDeviceGet) X(cuDeviceGetAttribute) X(cuDeviceGetByPCIBusId)              \
  X(cuDeviceGetDevResource) X(cuDeviceGetName) X(cuDeviceGetPCIBusId) X(cuDeviceGetProperties)              \
  X(cuDeviceGetUuid) X(cuDeviceGetUuid_v2) X(cuDevicePrimaryCtxGetState) X(cuDevicePrimaryCtxRelease)       \
  X(cuDevicePrimaryCtxRelease_v2) X(cuDevicePrimaryCtxReset) X(cuDevicePrimaryCtxReset_v2)                  \
  X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxSetFlags) X(cuDevicePrimaryCtxSetFlags_v2)                \
  X(cuDeviceTotalMem) X(cuDeviceTotalMem_v2) X(cuEventCreate) X(cuEventDestroy) X(cuEventDestroy_v2)        \
  X(cuEventElapsedTime) X(cuEventQuery) X(cuEventRecord) X(cuEventSynchronize) X(cuFuncGetModule)           \
  X(cuFuncGetName) X(cuFuncGetParamInfo) X(cuFuncIsLoaded) X(cuFuncLoad) X(cuFuncSetCacheConfig)            \
  X(cuFuncSetSharedMemConfig) X(cuGetExportTable) X(cuGraphAddKernelNode) X(cuGraphAddKernelNode_v2)        \
  X(cuGraphCreate) X(cuGraphDestroy) X(cuGraphExecDestroy) X(cuGraphInstantiateWithFlags) X(cuGraphLaunch)  \
  X(cuGraphRetainUserObject) X(cuGreenCtxCreate) X(cuGreenCtxDestroy) X(cuGreenCtxGetDevResource)           \
  X(cuGreenCtxStreamCreate) X(cuInit) X(cuKernelGetLibrary) X(cuKernelGetName) X(cuKernelGetParamInfo)      \
  X(cuKernelSetCacheConfig) X(cuLaunchCooperativeKernel) X(cuLaunchCooperativeKernelMultiDevice)            \
  X(cuLaunchHostFunc) X(cuLaunchKernel) X(cuLaunchKernelEx) X(cuLaunchKernelEx_ptsz)                        \
  X(cuLaunchKernel_ptsz) X(cuLibraryEnumerateKernels) X(cuLibraryGetGlobal) X(cuLibraryGetKernelCount)      \
  X(cuLibraryGetManaged) X(cuLinkAddData) X(cuLinkAddData_v2) X(cuLinkAddFile) X(cuLinkAddFile_v2)          \
  X(cuLinkComplete) X(cuLinkCreate) X(cuLinkCreate_v2) X(cuLinkDestroy) X(cuMemAlloc) X(cuMemAllocAsync)    \
  X(cuMemAllocHost_v2) X(cuMemAlloc_v2) X(cuMemFree) X(cuMemFreeAsync) X(cuMemFreeHost) X(cuMemFree_v2)     \
  X(cuMemGetInfo) X(cuMemGetInfo_v2) X(cuMemHostRegister_v2) X(cuMemHostUnregister) X(cuMemcpy)             \
  X(cuMemcpyAsync) X(cuMemcpyDtoDAsync_v2) X(cuMemcpyDtoD_v2) X(cuMemcpyDtoH) X(cuMemcpyDtoHAsync_v2)       \
  X(cuMemcpyDtoH_v2) X(cuMemcpyHtoD) X(cuMemcpyHtoDAsync_v2) X(cuMemcpyHtoD_v2) X(cuMemsetD16Async)         \
  X(cuMemsetD16_v2) X(cuMemsetD32Async) X(cuMemsetD32_v2) X(cuMemsetD8Async) X(cuMemsetD8_v2)               \
  X(cuModuleEnumerateFunctions) X(cuModuleGetFunctionCount) X(cuModuleGetGlobal) X(cuModuleGetGlobal_v2)    \
  X(cuModuleGetLoadingMode) X(cuOccupancyAvailableDynamicSMemPerBlock)                                      \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor) X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)    \
  X(cuOccupancyMaxActiveClusters) X(cuOccupancyMaxPotentialBlockSize)                                       \
  X(cuOccupancyMaxPotentialClusterSize) X(cuPointerGetAttribute) X(cuPointerGetAttributes)                  \
  X(cuProfilerStart) X(cuProfilerStop) X(cuStreamCreate) X(cuStreamCreateWithPriority) X(cuStreamDestroy)   \
  X(cuStreamDestroy_v2) X(cuStreamGetCaptureInfo) X(cuStreamGetCaptureInfo_v2) X(cuStreamGetCtx)            \
  X(cuStreamGetCtx_v2) X(cuStreamGetDevice) X(cuStreamGetFlags) X(cuStreamGetGreenCtx) X(cuStreamGetId)     \
  X(cuStreamGetPriority) X(cuStreamIsCapturing) X(cuStreamQuery) X(cuStreamSynchronize)                     \
  X(cuStreamWaitEvent) X(cuTensorMapEncodeIm2col) X(cuTensorMapEncodeTiled) X(cuTensorMapReplaceAddress)    \
  X(cuThreadExchangeStreamCaptureMode) X(cuUserObjectCreate) X(cuUserObjectRelease) X(cuUserObjectRetain)
// clang-format on
#define DEFINE_REFUSED(name) \
  API CUresult name(void) {  \
    return no_device();      \
  }
REFUSED(DEFINE_REFUSED)

// ---- NVRTC ---------------------------------------------------------------------------------------

// cuDNN up to 9.20 supports nothing until it has found these functions in a libnvrtc.so and read its version. It calls
// the other functions only to compile a plan. If the machine has no NVRTC, cudnn::load_nvrtc_stand_in() redirects cuDNN
// to this library.
enum { NVRTC_ERROR_INTERNAL_ERROR = 11 };
#define DEFINE_NVRTC(name)             \
  API int name(void) {                 \
    return NVRTC_ERROR_INTERNAL_ERROR; \
  }
DEFINE_NVRTC(nvrtcCreateProgram)
DEFINE_NVRTC(nvrtcDestroyProgram)
DEFINE_NVRTC(nvrtcCompileProgram)
DEFINE_NVRTC(nvrtcGetCUBIN)
DEFINE_NVRTC(nvrtcGetCUBINSize)
DEFINE_NVRTC(nvrtcGetPTX)
DEFINE_NVRTC(nvrtcGetPTXSize)
DEFINE_NVRTC(nvrtcGetProgramLog)
DEFINE_NVRTC(nvrtcGetProgramLogSize)
DEFINE_NVRTC(__nvrtcCPEx)

API int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return 0;
}

API const char* nvrtcGetErrorString(int error) {
  (void)error;
  return "there is no NVRTC on this machine";
}

// ---- entry points by name -----------------------------------------------------------------------

API CUresult cuGetProcAddress(const char* name, Entry* entry, int version, uint64_t flags);

// clang-format off
#define ACCEPTED(X) \
  X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString) X(cuDeviceGetCount) X(cuLibraryLoadData)      \
  X(cuLibraryLoadFromFile) X(cuLibraryGetKernel) X(cuLibraryGetModule) X(cuLibraryUnload)                   \
  X(cuKernelGetFunction) X(cuKernelGetAttribute) X(cuKernelSetAttribute) X(cuModuleLoad)                    \
  X(cuModuleLoadData) X(cuModuleLoadDataEx) X(cuModuleLoadFatBinary) X(cuModuleGetFunction)                 \
  X(cuModuleUnload) X(cuFuncGetAttribute) X(cuFuncSetAttribute)
// clang-format on

// Every name has an entry point. A CUDA runtime (each cuDNN sub-library has one linked in) then reports the call's
// error, not a missing function.
static Entry find(const char* name) {
#define ROW(name) {#name, (Entry)(name)},
  static const struct {
    const char* name;
    Entry entry;
  } table[] = {ACCEPTED(ROW) REFUSED(ROW)};
  for (size_t i = 0; i < sizeof table / sizeof *table; ++i)
    if (strcmp(table[i].name, name) == 0) return table[i].entry;
  return (Entry)no_device;
}

API CUresult cuGetProcAddress_v2(const char* name, Entry* entry, int version, uint64_t flags, int* status) {
  (void)flags;
  if (!name || !entry) return CUDA_ERROR_INVALID_VALUE;
  *entry = find(name);
  // CUDA 12 added a fifth parameter to this function, under the same name.
  if (strcmp(name, "cuGetProcAddress") == 0)
    *entry = version < 12000 ? (Entry)cuGetProcAddress : (Entry)cuGetProcAddress_v2;
  if (status) *status = 0;  // CU_GET_PROC_ADDRESS_SUCCESS
  return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char* name, Entry* entry, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, entry, version, flags, NULL);
}
