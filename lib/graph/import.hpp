// Operation graphs that other programs made, rebuilt from what is left of them: cuDNN's log, a stored plan,
// cudnn-frontend's JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attnprobe/graph/op_graph.hpp"

namespace attnprobe::graph {

/// A graph with the uids of the program that made it, in the order of its operations.
struct ImportedGraph {
  OpGraph graph;
  /// What the source does not say and nothing tells, one line each: "the axis of GEN_INDEX (tensor 8)". Empty
  /// if the graph is whole.
  std::vector<std::string> missing;
  /// What the source does not say and was concluded, one line each.
  std::vector<std::string> inferred;
};

/// From the object "operationGraph" that cuDNN 9.19 logs as JSON (cudnnBackendFinalizeGraphVisualize() and its
/// siblings) and that a stored plan holds (CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION). Throws Error(usage)
/// naming the JSON pointer, the value and what is allowed.
ImportedGraph import_backend_json(const Json& operation_graph);

/// From the indented tree that cuDNN logs when an operation graph is finalized: the lines below
/// "CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR", without cuDNN's marker ("i!"), their indentation kept. Throws
/// Error(usage) naming the line and what is wrong with it.
ImportedGraph import_log_tree(const std::vector<std::string>& lines);

}  // namespace attnprobe::graph
