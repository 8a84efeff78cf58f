// Converts the messages about an operation graph to the graph.
#pragma once

#include <functional>

#include "importers/cudnn_log/log_descriptors.hpp"

namespace attnprobe::importers {

/// An operation in the log.
struct LoggedOperation {
  std::string kind;                    ///< "OPERATION_MATMUL"
  std::string label;                   ///< for messages: "operation 5 (BINARY_SELECT)"
  const log::LogNode* tree = nullptr;  ///< from its own message, otherwise from the graph's
  LoggedDescriptorPointer record;      ///< nullptr if the log lacks the calls that created it

  /// The attribute of the operation or of its computation (POINTWISE, RNG, …); nullptr if it was not set.
  const LoggedAttribute* attribute(const std::string& name) const;
};

/// The operations of one graph. Prefers the trees of the operations' own messages, which are not truncated, to those of
/// the graph's message.
class LoggedOperations {
 public:
  /// `known` may be nullptr.
  LoggedOperations(const LoggedDescriptors* known, ImportedGraph& result) : known_(known), result_(result) {}

  /// In the graph's own order. `cut`: the message ends before the tree does.
  std::vector<LoggedOperation> of_graph(const log::LogNode& graph, bool cut);
  /// The operations of the graph inside a unified SDPA operation.
  std::vector<LoggedOperation> of_score_graph(const log::LogNode& graph);

 private:
  std::vector<LoggedOperation> find(const log::LogNode& graph, const std::string& what, bool is_cut, bool is_outer);
  LoggedDescriptorPointer record(const std::string& kind, const std::optional<std::string>& signature, bool ordered,
                                 size_t place);
  void sort(std::vector<LoggedOperation>& list);

  const LoggedDescriptors* known_;
  ImportedGraph& result_;
  std::set<const LoggedDescriptor*> used_;
};

/// The tensors of one graph, found through trees and the addresses set as ports.
class LoggedTensors {
 public:
  /// `known` may be nullptr.
  LoggedTensors(LoggedDescriptors* known, ImportedGraph& result) : known_(known), result_(result) {}

  /// Excludes tensors in trees from the candidates for an address. Call it for all operations before `port`.
  void show(const LoggedOperation& operation);
  /// The tensor at a port; nothing if the port is not set, or if the tensor is lost (then noted in `missing`).
  std::optional<graph::Uid> port(const LoggedOperation& operation, const std::string& name);
  /// Adds a tensor that is not in the log.
  graph::Uid add(graph::Tensor tensor);
  /// Resolves ragged offsets; may add tensors. Call it last.
  void finish();

 private:
  using Fits = std::function<bool(const graph::Tensor&)>;
  std::optional<graph::Uid> resolve(const std::string& address, const std::string& what, const Fits& fits);
  graph::Tensor read(const log::LogNode& tree) const;
  void take(graph::Uid uid);
  void reordering(graph::Tensor& tensor);
  Fits fits(const LoggedOperation& operation, const std::string& port);

  LoggedDescriptors* known_;
  ImportedGraph& result_;
  std::map<graph::Uid, const log::LogNode*> shown_;
  std::set<graph::Uid> taken_;
  std::map<std::string, graph::Uid> resolved_;
};

/// The operation graph in a message of cudnnBackendFinalize(). `known`: the earlier calls of its thread, or nullptr.
/// Throws Error(usage).
ImportedGraph import_logged_graph(const log::LogTree& message, LoggedDescriptors* known);

}  // namespace attnprobe::importers
