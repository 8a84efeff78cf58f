#include "run/plan_keeper.hpp"

namespace attnprobe::run {

const probe::BuiltPlan& PlanKeeper::plan(const graph::OpGraph& graph, int64_t engine, const probe::Knobs& knobs,
                                         const Stage& stage) {
  const std::string text = to_json(graph).dump();
  if (text != graph_) {
    plans_.clear();
    stage("operation graph");
    lowered_.emplace(cudnn::lower(device_.library(), graph, device_.handle()));
    graph_ = text;
  }
  const auto place = std::pair(engine, knobs);
  if (const auto it = plans_.find(place); it != plans_.end()) return it->second;
  stage({probe::Step::plan, "plan", engine, knobs});
  return plans_.emplace(place, probe::build_plan(device_, lowered_->operation_graph(), engine, knobs)).first->second;
}

}  // namespace attnprobe::run
