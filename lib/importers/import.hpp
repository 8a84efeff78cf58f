// Operation graphs that other programs made, rebuilt from what is
// left of them: cuDNN's log, a stored plan, cudnn-frontend's JSON.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op_graph.hpp"

namespace attnprobe::importers {

/// A graph with the uids of the program that made it, in the order of its operations.
struct ImportedGraph {
  graph::OpGraph graph;
  /// What the source does not say and nothing tells, one line each:
  /// "the axis of GEN_INDEX (tensor 8)". Empty if the graph is whole.
  std::vector<std::string> missing;
  /// What the source does not say and was concluded, one line each.
  std::vector<std::string> inferred;
};

/// From the object "operationGraph" that cuDNN 9.19 logs as JSON (cudnnBackendFinalizeGraphVisualize() and its
/// siblings) and that a stored plan holds (CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION). Throws Error(usage) naming
/// the JSON pointer, the value and what is allowed.
ImportedGraph import_backend_json(const Json& operation_graph);

/// One message of cuDNN's level-3 log, taken apart by whoever reads the log.
struct LogCall {
  std::string function;  ///< "cudnnBackendSetAttribute"
  std::string thread;    ///< of "Process=570; Thread=570"; "" where the message has no such line
  /// The lines below the head, without marker ("i! "), their indentation kept. The trailer may be among them.
  std::vector<std::string> lines;
};

/// Rebuilds operation graphs from the calls that made them. cuDNN's tree of an operation graph leaves things out
/// (docs/logs.md says which) and is cut off after 64 KB; the calls before it, on the same thread, have the rest.
class LogGraphReader {
 public:
  LogGraphReader();
  LogGraphReader(LogGraphReader&&) noexcept;
  LogGraphReader& operator=(LogGraphReader&&) noexcept;
  LogGraphReader(const LogGraphReader&) = delete;
  LogGraphReader& operator=(const LogGraphReader&) = delete;
  ~LogGraphReader();

  /// Takes the messages in the order of the log; those that do not matter cost nothing. Gives a graph for the message
  /// in which cudnnBackendFinalize() shows an operation graph, whatever status follows. Throws Error(usage) naming the
  /// line of that message, the value and what is allowed; no other message is an error.
  std::optional<ImportedGraph> read(const LogCall& call);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// From the tree alone: the lines of the message in which cudnnBackendFinalize() shows an operation graph, or only
/// those below "CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:". Throws as LogGraphReader::read does.
ImportedGraph import_log_tree(const std::vector<std::string>& lines);

/// Whether a graph is one that a unified SDPA operation holds inside (from 9.21): it reads a virtual tensor that none of
/// its operations writes. cuDNN finalizes and logs such a graph before the one that it is for.
bool is_score_graph(const graph::OpGraph& graph);

}  // namespace attnprobe::importers
