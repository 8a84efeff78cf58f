// Keeps the plans of one graph, each built once.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "cudnn/lowering.hpp"
#include "probe/built_plan.hpp"

namespace attnprobe::run {

/// Called before each step that may crash the process.
using Stage = std::function<void(const probe::Stage& stage)>;

class PlanKeeper {
 public:
  /// The device must outlive this. A simulated device also works: its plans are built but not loaded.
  explicit PlanKeeper(const cudnn::DeviceContext& device) : device_(device) {}

  /// Forgets the previous graph's plans. Throws Error(cudnn) if cuDNN refuses the graph.
  const probe::BuiltPlan& plan(const graph::OpGraph& graph, int64_t engine, const probe::Knobs& knobs,
                               const Stage& stage);

  /// Forgets the plans, but not the graph.
  void forget() { plans_.clear(); }

  const cudnn::DeviceContext& device() const { return device_; }

 private:
  const cudnn::DeviceContext& device_;
  std::string graph_;  // as JSON
  std::optional<cudnn::LoweredGraph> lowered_;
  std::map<std::pair<int64_t, probe::Knobs>, probe::BuiltPlan> plans_;
};

}  // namespace attnprobe::run
