// The worker's side of running: one graph at a time with its data and reference, its plans one by one.
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
  /// Builds the plan if it is not there yet, executes, verifies and times it. What goes wrong is a finding.
  virtual Outcome run(PlanKeeper& plans, const graph::OpGraph& graph, int64_t engine, const probe::Knobs& knobs,
                      const RunOptions& options, const Stage& stage) = 0;
  /// Gives the memory of data and reference back: another process has its turn on the GPU.
  virtual void rest() = 0;
};

/// Of the GPU that `device` is a handle on. Throws Error(environment), Error(cuda).
std::unique_ptr<Runner> gpu_runner(const cudnn::DeviceContext& device);

/// Runs `work` and says in `findings` what it throws: RunStatus::cuda_error, cudnn_error, out_of_memory, else not_run.
void guarded(probe::RunFindings& findings, const std::function<void()>& work);

}  // namespace attnprobe::run
