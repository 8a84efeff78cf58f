// A plan captured in a CUDA graph: its kernels, and replay.
#pragma once

#include <vector>

#include "probe/run_findings.hpp"
#include "run/device/cuda.hpp"
#include "run/problem.hpp"

namespace attnprobe::run {

class CapturedPlan {
 public:
  /// Captures what `execute` queues on the device's stream, without running it. Throws Error(cudnn) if the plan cannot
  /// be captured.
  CapturedPlan(const CudaDevice& device, const Execute& execute);

  /// Its kernel nodes, in CUDA's order. Copies and fills are not included.
  std::vector<probe::KernelLaunch> launches() const;

  /// Whether the first node, in that order, clears memory.
  bool begins_with_memset() const;

  /// Queues the whole graph. Throws Error(cuda).
  void replay() const;
  /// Queues the first `count` kernels of launches() and all nodes that are not kernels. Throws Error(cuda).
  void replay_first(size_t count) const;

 private:
  CUstream stream_;
  CudaGraph graph_;
  CudaGraphExec executable_;
  std::vector<CUgraphNode> kernels_;
  bool begins_with_memset_ = false;
};

}  // namespace attnprobe::run
