#include "recognise/graph_view.hpp"

#include <algorithm>
#include <cmath>

namespace attnprobe::recognise {
namespace {

std::optional<graph::Uid> main_operand(const graph::Operation& operation) {
  if (const auto* op = std::get_if<graph::Pointwise>(&operation)) return op->dy ? op->dy : op->x;
  if (const auto* op = std::get_if<graph::Reduction>(&operation)) return op->x;
  if (const auto* op = std::get_if<graph::Reshape>(&operation)) return op->x;
  if (const auto* op = std::get_if<graph::BlockScaleDequantize>(&operation)) return op->x;
  if (const auto* op = std::get_if<graph::DiagonalBandMask>(&operation)) return op->x;
  if (const auto* op = std::get_if<graph::Softmax>(&operation)) return op->x;
  return std::nullopt;
}

}  // namespace

GraphView::GraphView(const graph::OpGraph& graph) : graph_(graph) {
  for (const auto& t : graph.tensors) tensors_.emplace(t.uid, &t);
  for (const auto* list : {&graph.operations, &graph.score_operations})
    for (const auto& operation : *list)
      for (const auto& port : ports(operation)) {
        if (port.is_output)
          producers_.emplace(port.uid, &operation);
        else
          uses_[port.uid].push_back({&operation, port.name});
      }
}

const graph::Tensor* GraphView::find(std::optional<graph::Uid> uid) const {
  const auto found = uid ? tensors_.find(*uid) : tensors_.end();
  return found == tensors_.end() ? nullptr : found->second;
}

const graph::Operation* GraphView::producer(std::optional<graph::Uid> uid) const {
  const auto found = uid ? producers_.find(*uid) : producers_.end();
  return found == producers_.end() ? nullptr : found->second;
}

const std::vector<GraphUse>& GraphView::uses(graph::Uid uid) const {
  static const std::vector<GraphUse> none;
  const auto found = uses_.find(uid);
  return found == uses_.end() ? none : found->second;
}

bool GraphView::is_input(std::optional<graph::Uid> uid) const {
  const graph::Tensor* t = find(uid);
  return t != nullptr && !t->is_virtual && !t->by_value && producer(uid) == nullptr;
}

bool GraphView::is_one_element(std::optional<graph::Uid> uid) const {
  const graph::Tensor* t = find(uid);
  return t != nullptr && std::all_of(t->dims.begin(), t->dims.end(), [](int64_t d) { return d == 1; });
}

bool GraphView::is_by_value(std::optional<graph::Uid> uid) const {
  const graph::Tensor* t = find(uid);
  return t != nullptr && t->by_value;
}

std::optional<double> GraphView::value(std::optional<graph::Uid> uid) const {
  const graph::Tensor* t = find(uid);
  const bool known = t != nullptr && t->by_value && t->value && std::isfinite(*t->value);
  return known ? t->value : std::nullopt;
}

GraphView::Path GraphView::path_to(graph::Uid uid) const {
  Path path;
  path.origin = uid;
  // A foreign graph may have a cycle.
  const size_t most = graph_.operations.size() + graph_.score_operations.size();
  while (path.steps.size() < most) {
    const graph::Operation* made_by = producer(path.origin);
    const auto operand = made_by == nullptr ? std::nullopt : main_operand(*made_by);
    if (!operand) break;
    path.steps.push_back(made_by);
    path.origin = *operand;
  }
  std::reverse(path.steps.begin(), path.steps.end());
  return path;
}

graph::Uid GraphView::follow(graph::Uid uid) const {
  for (size_t i = 0; i <= graph_.operations.size(); ++i) {
    std::optional<graph::Uid> next;
    for (const auto& use : uses(uid)) {
      if (use.port != "x") continue;
      if (const auto* sum = std::get_if<graph::Reduction>(use.operation);
          sum && sum->op == graph::ReductionOperator::ADD)
        next = sum->y;
      for (const auto mode : {graph::PointwiseMode::MUL, graph::PointwiseMode::IDENTITY})
        if (const auto* op = pointwise_of(use.operation, mode); op && op->y) next = op->y;
    }
    if (!next) break;
    uid = *next;
  }
  return uid;
}

const graph::Pointwise* pointwise_of(const graph::Operation* operation, graph::PointwiseMode mode) {
  const auto* op = operation == nullptr ? nullptr : std::get_if<graph::Pointwise>(operation);
  return op != nullptr && op->mode == mode ? op : nullptr;
}

}  // namespace attnprobe::recognise
