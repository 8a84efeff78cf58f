// An OpGraph to walk in: who makes a tensor and who reads it. Tolerates any graph, broken ones too.
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

/// Everything is kept by reference into the graph, which has to outlive this.
class GraphView {
 public:
  explicit GraphView(const graph::OpGraph& graph);

  /// Null where there is none of that uid.
  const graph::Tensor* find(std::optional<graph::Uid> uid) const;
  /// The operation that makes the tensor; null for an input of the graph.
  const graph::Operation* producer(std::optional<graph::Uid> uid) const;
  template <class Op>
  const Op* producer_as(std::optional<graph::Uid> uid) const {
    const graph::Operation* operation = producer(uid);
    return operation == nullptr ? nullptr : std::get_if<Op>(operation);
  }
  const std::vector<GraphUse>& uses(graph::Uid uid) const;

  /// In memory, and no operation makes it.
  bool is_input(std::optional<graph::Uid> uid) const;
  /// Every extent is 1.
  bool is_one_element(std::optional<graph::Uid> uid) const;
  /// A scalar given as a host value.
  bool is_by_value(std::optional<graph::Uid> uid) const;
  /// Its value where the graph holds it and it is finite.
  std::optional<double> value(std::optional<graph::Uid> uid) const;

  template <class Op>
  std::vector<const Op*> all() const {
    std::vector<const Op*> found;
    for (const auto& operation : graph_.operations)
      if (const auto* op = std::get_if<Op>(&operation)) found.push_back(op);
    return found;
  }
  const graph::OpGraph& graph() const { return graph_; }

  /// The operations that lead to a tensor along their main operand (x; the gradient dy of an activation's backward
  /// operation), in the order of the data, from a matmul, another operation without one, or an input.
  struct Path {
    std::vector<const graph::Operation*> steps;
    graph::Uid origin = 0;
  };
  Path path_to(graph::Uid uid) const;

  /// Along reductions by ADD and products, scaled results and conversions, to the tensor that comes out of it.
  graph::Uid follow(graph::Uid uid) const;

 private:
  const graph::OpGraph& graph_;
  std::map<graph::Uid, const graph::Tensor*> tensors_;
  std::map<graph::Uid, const graph::Operation*> producers_;
  std::map<graph::Uid, std::vector<GraphUse>> uses_;
};

/// Null where `operation` is not a pointwise operation of that mode.
const graph::Pointwise* pointwise_of(const graph::Operation* operation, graph::PointwiseMode mode);

}  // namespace attnprobe::recognise
