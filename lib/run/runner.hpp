// Runs plans in the worker: one graph at a time, with its data and reference, and its plans one by one.
#pragma once

#include <functional>
#include <memory>

#include "cudnn/device_context.hpp"
#include "graph/op_graph.hpp"
#include "run/outcome.hpp"
#include "run/plan_keeper.hpp"
#include "run/run_options.hpp"

namespace attnprobe::run {

class Runner {
 public:
  Runner() = default;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  virtual ~Runner() = default;
  /// Builds the plan if necessary, executes, verifies and times it. Errors become findings.
  virtual Outcome run(PlanKeeper& plans, const graph::OpGraph& graph, int64_t engine, const probe::Knobs& knobs,
                      const RunOptions& options, const Stage& stage) = 0;
  /// Frees the memory of data and reference for another process's turn on the GPU.
  virtual void rest() = 0;
};

/// For the GPU of `device`. Throws Error(environment), Error(cuda).
std::unique_ptr<Runner> gpu_runner(const cudnn::DeviceContext& device);

/// Runs `work` and records its exception in `findings`: RunStatus::cuda_error, cudnn_error, out_of_memory, or otherwise
/// not_run.
void guarded(probe::RunFindings& findings, const std::function<void()>& work);

}  // namespace attnprobe::run
