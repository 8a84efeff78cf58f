// The cuDNN functions that attnprobe calls, as pointers: the library is loaded at run time, never linked.
#pragma once

#include <cudnn_graph.h>

namespace attnprobe::cudnn {

/// Names as in cuDNN; decltype guarantees the signatures.
struct Api {
  decltype(&::cudnnGetVersion) cudnnGetVersion = nullptr;
  decltype(&::cudnnGetErrorString) cudnnGetErrorString = nullptr;
  decltype(&::cudnnGetLastErrorString) cudnnGetLastErrorString = nullptr;
  decltype(&::cudnnGetCudartVersion) cudnnGetCudartVersion = nullptr;
  decltype(&::cudnnSetCallback) cudnnSetCallback = nullptr;
  decltype(&::cudnnCreate) cudnnCreate = nullptr;
  decltype(&::cudnnDestroy) cudnnDestroy = nullptr;
  decltype(&::cudnnSetStream) cudnnSetStream = nullptr;
  decltype(&::cudnnBackendExecute) cudnnBackendExecute = nullptr;
  decltype(&::cudnnBackendCreateDescriptor) cudnnBackendCreateDescriptor = nullptr;
  decltype(&::cudnnBackendDestroyDescriptor) cudnnBackendDestroyDescriptor = nullptr;
  decltype(&::cudnnBackendFinalize) cudnnBackendFinalize = nullptr;
  decltype(&::cudnnBackendSetAttribute) cudnnBackendSetAttribute = nullptr;
  decltype(&::cudnnBackendGetAttribute) cudnnBackendGetAttribute = nullptr;
};

}  // namespace attnprobe::cudnn
