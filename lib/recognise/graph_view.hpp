// Navigation in an OpGraph: which operation writes a tensor, which operations read it. Tolerates any graph, even a
// broken one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/op_graph.hpp"

namespace attnprobe::recognise {

/// An operation that reads a tensor, at a port.
struct GraphUse {
  const graph::Operation* operation;
  std::string port;
};

/// Keeps references into the graph, which must outlive this.
class GraphView {
 public:
  explicit GraphView(const graph::OpGraph& graph);

  /// Null if no tensor has that uid.
  const graph::Tensor* find(std::optional<graph::Uid> uid) const;
  /// The operation that writes the tensor; null for an input of the graph.
  const graph::Operation* producer(std::optional<graph::Uid> uid) const;
  template <class Op>
  const Op* producer_as(std::optional<graph::Uid> uid) const {
    const graph::Operation* operation = producer(uid);
    return operation == nullptr ? nullptr : std::get_if<Op>(operation);
  }
  const std::vector<GraphUse>& uses(graph::Uid uid) const;

  /// Whether the tensor is in memory and no operation writes it.
  bool is_input(std::optional<graph::Uid> uid) const;
  /// Every extent is 1.
  bool is_one_element(std::optional<graph::Uid> uid) const;
  /// A scalar passed as a host value.
  bool is_by_value(std::optional<graph::Uid> uid) const;
  /// The value, if the graph has it and it is finite.
  std::optional<double> value(std::optional<graph::Uid> uid) const;

  template <class Op>
  std::vector<const Op*> all() const {
    std::vector<const Op*> found;
    for (const auto& operation : graph_.operations)
      if (const auto* op = std::get_if<Op>(&operation)) found.push_back(op);
    return found;
  }
  const graph::OpGraph& graph() const { return graph_; }

  /// The operations on the path to a tensor along their main operands (x; for an activation's backward operation dy),
  /// in data order. The path starts at a matmul, another operation without a main operand, or an input.
  struct Path {
    std::vector<const graph::Operation*> steps;
    graph::Uid origin = 0;
  };
  Path path_to(graph::Uid uid) const;

  /// Follows ADD reductions, products, scalings and conversions to the final tensor.
  graph::Uid follow(graph::Uid uid) const;

 private:
  const graph::OpGraph& graph_;
  std::map<graph::Uid, const graph::Tensor*> tensors_;
  std::map<graph::Uid, const graph::Operation*> producers_;
  std::map<graph::Uid, std::vector<GraphUse>> uses_;
};

/// Null if `operation` is not a pointwise operation of that mode.
const graph::Pointwise* pointwise_of(const graph::Operation* operation, graph::PointwiseMode mode);

}  // namespace attnprobe::recognise
