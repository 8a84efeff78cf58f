// What cuDNN's log says of the descriptors of one thread before an operation graph is finalized.
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

/// Where the log shows a port of an operation: in the trees, below `path`, or only when it is set.
struct LoggedPort {
  std::string kind;       ///< "OPERATION_MATMUL"
  const char* port;       ///< as for_each_port names it
  std::string path;       ///< in the tree of the operation; "" where no tree shows it
  const char* attribute;  ///< "CUDNN_ATTR_OPERATION_MATMUL_ADESC"; "" for those of the softmax inside
  bool is_output;
};
/// Those of the table of operations; a second time where the tree of a softmax inside an SDPA operation shows them.
const std::vector<LoggedPort>& logged_ports();

/// "OPERATION_MATMUL".
template <class Op>
std::string logged_kind() {
  return std::string("OPERATION_") + graph::OperationTable<Op>::cudnn_name;
}

/// The uid of a tensor that a tree shows; nothing for a port that is not set (nbDims and uid are -1 there).
std::optional<graph::Uid> logged_uid(const log::LogNode* tensor);

/// Whether descriptors of this kind go into an operation graph: tensors, operations, what they compute.
bool is_graph_part(const std::string& kind);

struct LoggedAttribute {
  std::string type;                 ///< "CUDNN_TYPE_INT64"
  std::vector<std::string> values;  ///< for descriptors their addresses, see LoggedDescriptors::address
  friend bool operator==(const LoggedAttribute&, const LoggedAttribute&) = default;
};

/// A descriptor that was finalized.
struct LoggedDescriptor {
  std::string kind;  ///< "TENSOR", "POINTWISE", "OPERATION_POINTWISE"
  log::LogNode tree;
  std::string signature;                              ///< log_signature(tree)
  std::map<std::string, LoggedAttribute> attributes;  ///< by name, CUDNN_ATTR_TENSOR_DIMENSIONS
  std::shared_ptr<const LoggedDescriptor> math;       ///< the POINTWISE, RNG, … of an operation
  bool math_is_certain = true;                        ///< there was no other one that looks the same and differs
  size_t graph = 0;                                   ///< how many operation graphs came before
};
using LoggedDescriptorPointer = std::shared_ptr<const LoggedDescriptor>;

/// Follows one thread. SetAttribute shows the receiver's content but not its address, and of a descriptor that is a
/// value the address but not its content. So a descriptor is what was set between its creation and its finalize, and an
/// address is known once a tree shows what it was set as.
class LoggedDescriptors {
 public:
  void create(const std::string& kind);
  void set(const log::LogTree& message);
  void finalize(const log::LogTree& message);
  void destroy(const log::LogTree& message);
  /// An operation graph was finalized: what comes now belongs to the next one.
  void next_graph();

  /// The operation that a tree of an operation graph shows: the first one of `kind` with that signature that is not in
  /// `used`, of the latest graph that has one. Without a signature the first of the current graph.
  LoggedDescriptorPointer operation(const std::string& kind, const std::optional<std::string>& signature,
                                    std::set<const LoggedDescriptor*>& used) const;
  /// The tensor of that uid that was finalized last; nullptr if none was.
  LoggedDescriptorPointer tensor(graph::Uid uid) const;
  /// Tensors made for the current graph, in order, those that were destroyed since last.
  std::vector<LoggedDescriptorPointer> new_tensors() const;

  struct Address {
    std::optional<graph::Uid> shown;  ///< a tree showed it as this tensor
    /// The one tensor that was finalized since the use of an address before
    /// this one; for a ragged offset the last one that was finalized.
    std::optional<graph::Uid> made_for;
    std::optional<graph::Uid> from_older;  ///< what it was for an older graph
    size_t graph = 0;
    bool is_dead = false;  ///< that tensor was destroyed
  };
  /// A tensor's address as it stands in LoggedAttribute::values: "0x55ec38d402d0 2" is the second tensor there.
  const Address* address(const std::string& text) const;
  /// An address was found to be this tensor's.
  void learn(const std::string& text, graph::Uid uid) { addresses_[text].shown = uid; }

  /// What CUDNN_ATTR_OPERATIONGRAPH_OPS was set to: the kinds of the operations, in order.
  const std::vector<std::string>& graph_operations() const { return graph_operations_; }
  /// The operations that were finalized last before that, if they are
  /// of these kinds in this order: they are the graph's. Else empty.
  const std::vector<LoggedDescriptorPointer>& last_operations() const { return last_operations_; }
  /// What else the current graph was told, by name: CUDNN_ATTR_OPERATIONGRAPH_HANDLE, ….
  const std::map<std::string, LoggedAttribute>& graph_attributes() const;
  /// Messages that set something of the current graph and were cut off before they name it.
  size_t cut_graph_attributes() const { return cut_graph_attributes_; }

 private:
  void finalize_tensor(LoggedDescriptorPointer tensor);
  void finalize_operation(std::shared_ptr<LoggedDescriptor> operation);
  void set_operations(std::vector<std::string> kinds);
  void find_math(LoggedDescriptor& operation);
  /// The address as LoggedAttribute::values has it.
  std::string use_address(const std::string& text, bool is_ragged_offset);

  size_t graph_ = 0;
  std::map<std::string, std::map<std::string, LoggedAttribute>> open_;  ///< by kind
  std::vector<LoggedDescriptorPointer> operations_, math_;
  std::set<const LoggedDescriptor*> used_math_;
  std::map<graph::Uid, LoggedDescriptorPointer> tensors_;
  std::vector<LoggedDescriptorPointer> new_tensors_, destroyed_tensors_;
  std::vector<graph::Uid> since_last_use_;  ///< tensors finalized since an address was last used
  std::map<std::string, Address> addresses_;
  std::map<std::string, size_t> tensors_at_;  ///< how many tensors there were at an address
  std::vector<std::string> graph_operations_;
  std::vector<LoggedDescriptorPointer> last_operations_;
  size_t cut_graph_attributes_ = 0;
};

}  // namespace attnprobe::importers
