// A plan captured into a CUDA graph: the kernels that it launches, and its replay.
#pragma once

#include <vector>

#include "probe/run_findings.hpp"
#include "run/device/cuda.hpp"
#include "run/problem.hpp"

namespace attnprobe::run {

class CapturedPlan {
 public:
  /// Captures what `execute` queues on the device's stream; nothing of it runs. Throws Error(cudnn) where the plan
  /// cannot be captured.
  CapturedPlan(const CudaDevice& device, const Execute& execute);

  /// Of its kernel nodes, in the order in which CUDA lists them. Copies and fills beside them are not kernels.
  std::vector<probe::KernelLaunch> launches() const;

  /// Whether its first node, in that order, clears memory.
  bool begins_with_memset() const;

  /// Queues the whole of it. Throws Error(cuda).
  void replay() const;
  /// Queues the first so many kernels of launches(), and what is not a kernel. Throws Error(cuda).
  void replay_first(size_t count) const;

 private:
  CUstream stream_;
  CudaGraph graph_;
  CudaGraphExec executable_;
  std::vector<CUgraphNode> kernels_;
  bool begins_with_memset_ = false;
};

}  // namespace attnprobe::run
