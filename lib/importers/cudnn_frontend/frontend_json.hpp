// Reads cudnn-frontend's JSON: values with their places, tensors and nodes. Every wrong value is an Error(usage)
// with the JSON pointer, the value and what is allowed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json_reader.hpp"
#include "build/graph_builder.hpp"

namespace attnprobe::importers {

/// A value and its place. cudnn-frontend writes null for an unset member, so null counts as absent.
class FrontendPlace : public JsonView {
 public:
  explicit FrontendPlace(const Json& whole) : JsonView(whole, {"cudnn-frontend's JSON"}) {}
  FrontendPlace(JsonView view) : JsonView(std::move(view)) {}  // NOLINT: implicit conversion is intended

  /// "<place>: <value> is not allowed; allowed: …".
  [[noreturn]] void wrong(const std::string& allowed) const;

  /// Whether this is an object that has the key with a value other than null.
  bool has(const std::string& key) const;
  /// Throws if has(key) is false.
  FrontendPlace at(const std::string& key) const;
  FrontendPlace at(size_t index) const;

  /// A number, or the eight hexadecimal digits in which cudnn-frontend writes the bits of a float. Returns the shortest
  /// decimal for that float: 3DCCCCCD is 0.1.
  double number() const;
  std::vector<int64_t> integers(int64_t low) const;
  DataType data_type() const;

  /// For a key that may be absent or null.
  std::optional<double> optional_number(const std::string& key) const;
  std::optional<DataType> optional_data_type(const std::string& key) const;
};

/// A tensor as cudnn-frontend describes it. Unset members may be inferred later.
struct FrontendTensor {
  std::string key, pointer;  ///< in "tensors"; JSON pointer
  std::string name;
  std::optional<graph::Uid> uid;      ///< if the user or cudnn-frontend assigned one
  std::optional<DataType> data_type;  ///< none: the context's
  build::Dims dims, strides;          ///< both may be empty
  bool is_virtual = false, by_value = false;
  std::optional<double> value;
  std::vector<double> host_values;  ///< of a tensor in memory, if a reproducer's JSON has them
  graph::Reordering reordering = graph::Reordering::NONE;
  bool ragged = false;
  int64_t ragged_multiplier = 1;
  std::optional<graph::Uid> ragged_uid;
  std::string ragged_name;
};

/// Defaults for the whole graph.
struct FrontendContext {
  std::optional<DataType> io, intermediate, compute;
};

/// A graph that parses tensors only on use, because tensors of nodes other than attention may contain anything.
class FrontendDocument {
 public:
  explicit FrontendDocument(const Json& json);

  const FrontendPlace& root() const { return root_; }
  const FrontendContext& context() const { return context_; }
  size_t node_count() const { return root_.at("nodes").json().size(); }
  FrontendPlace node(size_t index) const { return root_.at("nodes").at(index); }
  /// Tensor keys by port; direction is "inputs" or "outputs".
  std::map<std::string, std::string> ports(const FrontendPlace& node, const std::string& direction) const;
  FrontendTensor tensor(const std::string& key) const;
  std::vector<std::string> tensor_keys() const;
  /// The tensor's type, or the context's; none if neither is set.
  std::optional<DataType> type_of(const FrontendTensor& tensor) const;

 private:
  FrontendPlace root_;
  FrontendContext context_;
};

}  // namespace attnprobe::importers
