// Builds an executable plan from an engine config.
#pragma once

#include "cudnn/device_context.hpp"
#include "probe/findings.hpp"

namespace attnprobe::probe {

struct BuiltPlan {
  PlanFindings findings;  ///< status of the first part (engine, engine config or plan) that did not finalize
  std::optional<cudnn::Descriptor> plan;  ///< set if all finalized
  int64_t workspace_bytes = 0;
};

/// Throws Error(cudnn) only if the failure is not a verdict on the plan.
BuiltPlan build_plan(const cudnn::DeviceContext& device, const cudnn::Descriptor& operation_graph, int64_t engine,
                     const Knobs& knobs);

}  // namespace attnprobe::probe
