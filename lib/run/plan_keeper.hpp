// The plans of one graph at a time, each built once.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "cudnn/lowering.hpp"
#include "probe/plan.hpp"

namespace attnprobe::run {

/// Called before each step that may take the process down.
using Stage = std::function<void(const probe::Stage& stage)>;

class PlanKeeper {
 public:
  /// The device has to outlive this; a simulated one will do, its plans are built and not loaded.
  explicit PlanKeeper(const cudnn::DeviceContext& device) : device_(device) {}

  /// Forgets the plans of the graph before. Throws Error(cudnn) if cuDNN refuses the graph itself.
  const probe::BuiltPlan& plan(const graph::OpGraph& graph, int64_t engine, const probe::Knobs& knobs,
                               const Stage& stage);

  /// Forgets them. The graph stays.
  void forget() { plans_.clear(); }

  const cudnn::DeviceContext& device() const { return device_; }

 private:
  const cudnn::DeviceContext& device_;
  std::string graph_;  // as JSON
  std::optional<cudnn::LoweredGraph> lowered_;
  std::map<std::pair<int64_t, probe::Knobs>, probe::BuiltPlan> plans_;
};

}  // namespace attnprobe::run
