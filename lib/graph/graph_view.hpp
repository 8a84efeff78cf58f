// An OpGraph to walk in: who makes a tensor and who reads it. Tolerates any graph, broken ones too.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attnprobe/graph/op_graph.hpp"

namespace attnprobe::graph {

/// An operation that reads a tensor, at a port.
struct GraphUse {
  const Operation* operation;
  std::string port;
};

/// Everything is kept by reference into the graph, which has to outlive this.
class GraphView {
 public:
  explicit GraphView(const OpGraph& graph);

  /// Null where there is none of that uid.
  const Tensor* find(std::optional<Uid> uid) const;
  /// The operation that makes the tensor; null for an input of the graph.
  const Operation* producer(std::optional<Uid> uid) const;
  template <class Op>
  const Op* producer_as(std::optional<Uid> uid) const {
    const Operation* operation = producer(uid);
    return operation == nullptr ? nullptr : std::get_if<Op>(operation);
  }
  const std::vector<GraphUse>& uses(Uid uid) const;

  /// In memory, and no operation makes it.
  bool is_input(std::optional<Uid> uid) const;
  /// Every extent is 1.
  bool is_one_element(std::optional<Uid> uid) const;
  /// A scalar given as a host value.
  bool is_by_value(std::optional<Uid> uid) const;
  /// Its value where the graph holds it and it is finite.
  std::optional<double> value(std::optional<Uid> uid) const;

  template <class Op>
  std::vector<const Op*> all() const {
    std::vector<const Op*> found;
    for (const auto& operation : graph_.operations)
      if (const auto* op = std::get_if<Op>(&operation)) found.push_back(op);
    return found;
  }
  const OpGraph& graph() const { return graph_; }

  /// The operations that lead to a tensor along their main operand (x; the gradient dy of an activation's
  /// backward operation), in the order of the data, from a matmul, another operation without one, or an
  /// input.
  struct Path {
    std::vector<const Operation*> steps;
    Uid origin = 0;
  };
  Path path_to(Uid uid) const;

  /// Along reductions by ADD and products, scaled results and conversions, to the tensor that comes out of
  /// it.
  Uid follow(Uid uid) const;

 private:
  const OpGraph& graph_;
  std::map<Uid, const Tensor*> tensors_;
  std::map<Uid, const Operation*> producers_;
  std::map<Uid, std::vector<GraphUse>> uses_;
};

/// Null where `operation` is no pointwise operation of that mode.
const Pointwise* pointwise_of(const Operation* operation, PointwiseMode mode);

}  // namespace attnprobe::graph
