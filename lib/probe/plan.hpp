// One engine config made into a plan that can be executed.
#pragma once

#include "cudnn/device_context.hpp"
#include "probe/findings.hpp"

namespace attnprobe::probe {

struct BuiltPlan {
  PlanFindings findings;  ///< status of the first of engine, engine config and plan that did not finalize
  std::optional<cudnn::Descriptor> plan;  ///< where all did
  int64_t workspace_bytes = 0;
};

/// Throws Error(cudnn) only for what is not a verdict on the plan.
BuiltPlan build_plan(const cudnn::DeviceContext& device, const cudnn::Descriptor& operation_graph, int64_t engine,
                     const Knobs& knobs);

}  // namespace attnprobe::probe
