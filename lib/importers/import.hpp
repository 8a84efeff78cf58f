// Rebuilds operation graphs of other programs from cuDNN's log, a stored plan, or cudnn-frontend's JSON.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op_graph.hpp"

namespace attnprobe::importers {

/// A graph with the original program's uids, in the order of its operations.
struct ImportedGraph {
  graph::OpGraph graph;
  /// Facts that the source lacks and that cannot be inferred, one per line: "the axis of GEN_INDEX (tensor 8)". Empty
  /// if the graph is complete.
  std::vector<std::string> missing;
  /// Facts that were inferred because the source lacks them, one per line.
  std::vector<std::string> inferred;
};

/// Imports the object "operationGraph" that cuDNN 9.19 logs as JSON (cudnnBackendFinalizeGraphVisualize() and its
/// siblings). A stored plan has it too (CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION). Throws Error(usage) naming the
/// JSON pointer, the value and what is allowed.
ImportedGraph import_backend_json(const Json& operation_graph);

/// One message of cuDNN's level-3 log, split by the log's reader.
struct LogCall {
  std::string function;  ///< "cudnnBackendSetAttribute"
  std::string thread;    ///< of "Process=570; Thread=570"; "" if the message has no such line
  /// The lines below the head, without the marker ("i! "), with indentation. May include the trailer.
  std::vector<std::string> lines;
};

/// Rebuilds operation graphs from the calls that created them. cuDNN's tree of an operation graph is incomplete (see
/// docs/logs.md) and truncated after 64 KB; earlier calls on the same thread have the rest.
class LogGraphReader {
 public:
  LogGraphReader();
  LogGraphReader(LogGraphReader&&) noexcept;
  LogGraphReader& operator=(LogGraphReader&&) noexcept;
  LogGraphReader(const LogGraphReader&) = delete;
  LogGraphReader& operator=(const LogGraphReader&) = delete;
  ~LogGraphReader();

  /// Accepts messages in the order of the log; irrelevant messages cost nothing. Returns a graph for a message in which
  /// cudnnBackendFinalize() shows an operation graph, with any status. Throws Error(usage) naming the line of that
  /// message, the value and what is allowed; no other message is an error.
  std::optional<ImportedGraph> read(const LogCall& call);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Imports a tree without earlier calls: the lines of the message in which cudnnBackendFinalize() shows an operation
/// graph, or those below "CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:". Throws like LogGraphReader::read.
ImportedGraph import_log_tree(const std::vector<std::string>& lines);

/// Whether a graph is the sub-graph of a unified SDPA operation (from 9.21): it reads a virtual tensor that none of its
/// operations writes. cuDNN finalizes and logs it before its outer graph.
bool is_score_graph(const graph::OpGraph& graph);

}  // namespace attnprobe::importers
