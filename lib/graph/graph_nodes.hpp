// An OpGraph as nodes (its tensors and operations) and labelled edges (ports), for comparisons.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/op_graph.hpp"

namespace attnprobe::graph {

/// A port from an operation to its tensor, or from a tensor to its ragged offset; also the reverse edges.
struct GraphEdge {
  std::string label;
  size_t to;
  bool operator==(const GraphEdge&) const = default;
};

struct GraphNode {
  bool is_operation = false;
  size_t index = 0;        ///< in OpGraph::tensors or ::operations; score operations are numbered after these
  std::string word;        ///< "tensor", or the operation's name
  bool in_scores = false;  ///< of OpGraph::score_operations
  /// The relevant attributes, as words: {"strides", "8,4,2,1"}.
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<GraphEdge> edges;
};

/// Tensors that an operation uses first, then operations.
std::vector<GraphNode> graph_nodes(const OpGraph& graph);

/// Colours of the nodes of two graphs. Nodes of equal colour have equal attributes and neighbours, up to some distance.
class GraphColours {
 public:
  using Colours = std::vector<uint64_t>;

  GraphColours(const std::vector<GraphNode>& a, const std::vector<GraphNode>& b);

  /// Initial colours, from attributes only. The nodes of b follow those of a.
  const Colours& initial() const { return initial_; }
  /// Extends the distance by one; true if a colour was split.
  bool refine(Colours& colours) const;

 private:
  struct Edge {
    uint64_t label;
    size_t to;
  };
  Colours initial_;
  std::vector<std::vector<Edge>> edges_;
};

}  // namespace attnprobe::graph
