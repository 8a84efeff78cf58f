// Collects facts from cuDNN's log about one thread's descriptors before an operation graph is finalized.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/operation_table.hpp"
#include "importers/import.hpp"
#include "log/log_tree.hpp"

namespace attnprobe::importers {

inline constexpr const char* graph_kind = "OPERATIONGRAPH";

/// Where the log shows a port of an operation: in the trees, below `path`, or only in the call that sets it.
struct LoggedPort {
  std::string kind;       ///< "OPERATION_MATMUL"
  const char* port;       ///< named as in for_each_port
  std::string path;       ///< in the tree of the operation; "" if no tree shows it
  const char* attribute;  ///< "CUDNN_ATTR_OPERATION_MATMUL_ADESC"; "" for ports of the inner softmax
  bool is_output;
};
/// All ports of the table of operations. Ports in the tree of an inner softmax are listed twice.
const std::vector<LoggedPort>& logged_ports();

/// "OPERATION_MATMUL".
template <class Op>
std::string logged_kind() {
  return std::string("OPERATION_") + graph::OperationTable<Op>::cudnn_name;
}

/// The uid of a tensor in a tree; nothing for an unset port (nbDims and uid are -1 there).
std::optional<graph::Uid> logged_uid(const log::LogNode* tensor);

/// Whether descriptors of this kind belong to an operation graph: tensors, operations, their computations.
bool is_graph_part(const std::string& kind);

struct LoggedAttribute {
  std::string type;                 ///< "CUDNN_TYPE_INT64"
  std::vector<std::string> values;  ///< addresses for descriptors, see LoggedDescriptors::address
  friend bool operator==(const LoggedAttribute&, const LoggedAttribute&) = default;
};

/// A finalized descriptor.
struct LoggedDescriptor {
  std::string kind;  ///< "TENSOR", "POINTWISE", "OPERATION_POINTWISE"
  log::LogNode tree;
  std::string signature;                              ///< log_signature(tree)
  std::map<std::string, LoggedAttribute> attributes;  ///< by name, CUDNN_ATTR_TENSOR_DIMENSIONS
  std::shared_ptr<const LoggedDescriptor> math;       ///< the POINTWISE, RNG, … of an operation
  bool math_is_certain = true;                        ///< all descriptors with the same tree are equal
  size_t graph = 0;                                   ///< the number of operation graphs before it
};
using LoggedDescriptorPointer = std::shared_ptr<const LoggedDescriptor>;

/// Follows one thread. SetAttribute logs the content of the descriptor that it changes, but not its address. For a
/// descriptor as value it logs the address, but not the content. So a descriptor is everything set between its creation
/// and its finalize. An address is resolved when a tree shows the port to which it was set.
class LoggedDescriptors {
 public:
  void create(const std::string& kind);
  void set(const log::LogTree& message);
  void finalize(const log::LogTree& message);
  void destroy(const log::LogTree& message);
  /// An operation graph was finalized: later calls belong to the next one.
  void next_graph();

  /// The operation for a node in a graph's tree: the first unused operation of `kind` with that signature, from the
  /// latest graph that has one. Without a signature, the first of the current graph. `used`: operations already used.
  LoggedDescriptorPointer operation(const std::string& kind, const std::optional<std::string>& signature,
                                    std::set<const LoggedDescriptor*>& used) const;
  /// The last finalized tensor with that uid, or nullptr.
  LoggedDescriptorPointer tensor(graph::Uid uid) const;
  /// Tensors made for the current graph, in order; destroyed tensors last.
  std::vector<LoggedDescriptorPointer> new_tensors() const;

  struct Address {
    std::optional<graph::Uid> shown;  ///< a tree showed it as this tensor
    /// The only tensor finalized since the previous use of an address; for a ragged offset, the last finalized tensor.
    std::optional<graph::Uid> made_for;
    std::optional<graph::Uid> from_older;  ///< its tensor in an older graph
    size_t graph = 0;
    bool is_dead = false;  ///< that tensor was destroyed
  };
  /// A tensor's address in LoggedAttribute::values: "0x55ec38d402d0 2" is the second tensor there.
  const Address* address(const std::string& text) const;
  /// Records that an address belongs to this tensor.
  void learn(const std::string& text, graph::Uid uid) { addresses_[text].shown = uid; }

  /// The value of CUDNN_ATTR_OPERATIONGRAPH_OPS: the kinds of the operations, in order.
  const std::vector<std::string>& graph_operations() const { return graph_operations_; }
  /// The graph's operations: the last ones finalized before it, if they have these kinds in this order. Otherwise
  /// empty.
  const std::vector<LoggedDescriptorPointer>& last_operations() const { return last_operations_; }
  /// Other attributes of the current graph, by name: CUDNN_ATTR_OPERATIONGRAPH_HANDLE, ….
  const std::map<std::string, LoggedAttribute>& graph_attributes() const;
  /// The number of messages about the current graph that are truncated before the attribute's name.
  size_t cut_graph_attributes() const { return cut_graph_attributes_; }

 private:
  void finalize_tensor(LoggedDescriptorPointer tensor);
  void finalize_operation(std::shared_ptr<LoggedDescriptor> operation);
  void set_operations(std::vector<std::string> kinds);
  void find_math(LoggedDescriptor& operation);
  /// The address in the form of LoggedAttribute::values.
  std::string use_address(const std::string& text, bool is_ragged_offset);

  size_t graph_ = 0;
  std::map<std::string, std::map<std::string, LoggedAttribute>> open_;  ///< by kind
  std::vector<LoggedDescriptorPointer> operations_, math_;
  std::set<const LoggedDescriptor*> used_math_;
  std::map<graph::Uid, LoggedDescriptorPointer> tensors_;
  std::vector<LoggedDescriptorPointer> new_tensors_, destroyed_tensors_;
  std::vector<graph::Uid> since_last_use_;  ///< finalized since the last use of an address
  std::map<std::string, Address> addresses_;
  std::map<std::string, size_t> tensors_at_;  ///< number of tensors so far at an address
  std::vector<std::string> graph_operations_;
  std::vector<LoggedDescriptorPointer> last_operations_;
  size_t cut_graph_attributes_ = 0;
};

}  // namespace attnprobe::importers
