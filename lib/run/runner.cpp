#include "run/runner.hpp"

#include "base/error.hpp"
#include "run/device/execution.hpp"
#include "run/timing/timing.hpp"

namespace attnprobe::run {
namespace {

constexpr unsigned char unset_workspace = 0xff;

class GpuRunner : public Runner {
 public:
  explicit GpuRunner(const cudnn::DeviceContext& device) : device_(device) {
    if (device.library().api().cudnnSetStream(device.handle(), gpu_.stream()) != CUDNN_STATUS_SUCCESS)
      throw Error(ErrorKind::environment, "cudnnSetStream failed");
  }

  Outcome run(PlanKeeper& plans, const graph::OpGraph& graph, int64_t engine, const probe::Knobs& knobs,
              const RunOptions& options, const Stage& stage) override {
    const probe::BuiltPlan& built = plans.plan(graph, engine, knobs, stage);
    Outcome outcome;
    outcome.plan = built.findings;
    if (!built.plan) return outcome;
    outcome.run.emplace();
    outcome.run->data = name_of(options.data);
    const auto at = [&](const char* what) { stage({probe::Step::run, what, engine, knobs}); };
    guarded(*outcome.run, [&] {
      at("data");
      prepare(graph, options, static_cast<size_t>(built.workspace_bytes));
      const Memory workspace(gpu_, static_cast<size_t>(built.workspace_bytes));
      if (workspace.bytes() > 0) gpu_.set_bytes(workspace.data(), unset_workspace, workspace.bytes());
      const Execution execution(device_, *built.plan, graph, problem_->pointers(), workspace.data());
      at("run");
      outcome.run = problem_->verify([&] { execution(); }, options.repeat);
      if (!probe::ran(*outcome.run)) return;
      at("timing");
      const Execute execute = [&] { execution(); };
      outcome.run->launches = launches_of(gpu_, execute, options.timing != Timing::none);
      if (options.timing == Timing::none) return;
      outcome.time = time_plan(gpu_, execute, options);
    });
    if (probe::ran(*outcome.run)) return outcome;
    // cuDNN may also be the first to notice a kernel's failure, so the context is checked to avoid blaming the next
    // plan.
    if (!outcome.run->context_lost) {
      probe::RunFindings afterwards;
      guarded(afterwards, [&] { gpu_.wait(); });
      if (afterwards.context_lost) {
        outcome.run->status = afterwards.status;
        outcome.run->context_lost = true;
      }
    }
    problem_.reset();
    return outcome;
  }

  void rest() override { problem_.reset(); }

 private:
  void prepare(const graph::OpGraph& graph, const RunOptions& options, size_t workspace) {
    const std::string key = to_json(graph).dump() + Json(options).dump();
    if (problem_ && key == problem_key_) return;
    problem_.reset();
    problem_ = std::make_unique<Problem>(gpu_, graph, options, device_.library().version(), workspace);
    problem_key_ = key;
  }

  const cudnn::DeviceContext& device_;
  CudaDevice gpu_;
  std::string problem_key_;
  std::unique_ptr<Problem> problem_;
};

}  // namespace

void guarded(probe::RunFindings& findings, const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& e) {
    findings.message = e.what();
    switch (e.kind()) {
      case ErrorKind::cuda:
        // Kernel errors stay with the context, and any other error looks the same.
        findings.status = probe::RunStatus::cuda_error;
        findings.context_lost = true;
        break;
      case ErrorKind::cudnn:
        findings.status = probe::RunStatus::cudnn_error;
        break;
      case ErrorKind::environment:
        findings.status = probe::RunStatus::out_of_memory;
        break;
      default:
        findings.status = probe::RunStatus::not_run;
    }
  }
}

std::unique_ptr<Runner> gpu_runner(const cudnn::DeviceContext& device) {
  return std::make_unique<GpuRunner>(device);
}

}  // namespace attnprobe::run
