// The operation graph as cuDNN's own JSON: schema version 4, seen from 9.19 to 9.28.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "graph/cudnn_names.hpp"
#include "graph/operation_table.hpp"
#include "importers/import.hpp"

namespace attnprobe::importers {
namespace {

// One object of the JSON: members are taken by name, and what nobody took is noticed at the end.
class JsonObject {
 public:
  JsonObject(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) fail("", json, "an object");
  }

  [[noreturn]] void fail(const std::string& key, const Json& value, const std::string& allowed) const {
    throw Error(ErrorKind::usage, fmt::format("operationGraph{}: {}; allowed: {}", pointer(key),
                                              json_text(value).substr(0, 80), allowed));
  }

  std::string pointer(const std::string& key) const { return key.empty() ? where_ : where_ + "/" + key; }

  // Null where it is absent.
  const Json* find(const std::string& key) {
    taken_.insert(key);
    const auto found = json_.find(key);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }

  const Json& at(const std::string& key, const std::string& allowed) {
    if (const Json* found = find(key)) return *found;
    throw Error(ErrorKind::usage, fmt::format("operationGraph{}: missing; allowed: {}", pointer(key), allowed));
  }

  std::optional<int64_t> integer(const std::string& key) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number_integer()) fail(key, *value, "an integer");
    return value->get<int64_t>();
  }

  std::optional<double> number(const std::string& key) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number()) fail(key, *value, "a number");
    return value->get<double>();
  }

  bool boolean(const std::string& key) {
    const Json* value = find(key);
    if (value == nullptr) return false;
    if (!value->is_boolean()) fail(key, *value, "true or false");
    return value->get<bool>();
  }

  std::vector<int64_t> integers(const std::string& key) {
    const std::string allowed = "an array of integers";
    const Json& value = at(key, allowed);
    if (!value.is_array()) fail(key, value, allowed);
    std::vector<int64_t> all;
    for (const Json& entry : value) {
      if (!entry.is_number_integer()) fail(key, value, allowed);
      all.push_back(entry.get<int64_t>());
    }
    return all;
  }

  // An enumerator under cuDNN's name.
  template <class E>
  E named(const std::string& key) {
    const std::string allowed = quoted_list(graph::cudnn_names_of<E>());
    const Json& value = at(key, allowed);
    const auto parsed = value.is_string() ? graph::parse_cudnn<E>(value.get<std::string>()) : std::nullopt;
    if (!parsed) fail(key, value, allowed);
    return *parsed;
  }

  std::optional<graph::Uid> port(const std::string& key) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    return uid(key, *value);
  }

  graph::Uid needed_port(const std::string& key) { return uid(key, at(key, "a tensor's name")); }

  // What the JSON has beyond what was taken.
  std::vector<std::string> left() const {
    std::vector<std::string> keys;
    for (const auto& [key, value] : json_.items())
      if (taken_.count(key) == 0) keys.push_back(key);
    return keys;
  }

 private:
  // Tensors are named by their uids.
  graph::Uid uid(const std::string& key, const Json& value) const {
    if (value.is_number_integer()) return value.get<graph::Uid>();
    if (value.is_string())
      if (const auto parsed = graph::parse_uid(value.get<std::string>())) return *parsed;
    fail(key, value, "a tensor's name, which is its uid");
  }

  const Json& json_;
  std::string where_;
  std::set<std::string> taken_;
};

class BackendJsonImport {
 public:
  ImportedGraph run(const Json& json) {
    JsonObject whole(json, "");
    whole.find("finalizeMode");  // cuDNN's word for the kind of graph
    read_tensors(whole);
    result_.graph.operations = read_operations(whole);
    note_rest(whole);
    check_ports();
    return std::move(result_);
  }

 private:
  void read_tensors(JsonObject& object) {
    const Json& tensors = object.at("tensors", "an array");
    if (!tensors.is_array()) object.fail("tensors", tensors, "an array");
    for (size_t i = 0; i < tensors.size(); ++i)
      read_tensor(tensors[i], fmt::format("{}/{}", object.pointer("tensors"), i));
  }

  // A tensor may stand in several lists: a ragged offset in that of each tensor that it serves, the sub-graph of a
  // unified SDPA operation in a list of its own.
  graph::Uid read_tensor(const Json& json, const std::string& where) {
    JsonObject object(json, where);
    graph::Tensor t;
    t.uid = object.needed_port("name");
    t.data_type = object.named<DataType>("dataType");
    t.dims = object.integers("dim");
    t.strides = object.integers("stride");
    if (t.dims.size() != t.strides.size()) object.fail("stride", json, "as many strides as dims");
    t.is_virtual = object.boolean("isVirtual");
    t.by_value = object.boolean("isByValue");
    if (const auto alignment = object.integer("ptrAlignment")) t.alignment = *alignment;
    if (json.contains("reordering")) t.reordering = object.named<graph::Reordering>("reordering");
    if (const auto vector = object.integer("vectCount"); vector && *vector != 1)
      lose(fmt::format("tensor {}: {} elements in a vector", t.uid, *vector));
    object.find("vectDim");
    if (const Json* ragged = object.find("isRagged")) {
      if (!ragged->is_array() || ragged->size() > 1) object.fail("isRagged", *ragged, "an array of one tensor");
      if (!ragged->empty()) t.ragged_offset = read_tensor((*ragged)[0], object.pointer("isRagged/0"));
    }
    note_rest(object);
    if (known_.insert(t.uid).second) result_.graph.tensors.push_back(t);
    return t.uid;
  }

  std::vector<graph::Operation> read_operations(JsonObject& object) {
    const Json& nodes = object.at("nodes", "an array");
    if (!nodes.is_array()) object.fail("nodes", nodes, "an array");
    std::vector<graph::Operation> operations;
    for (size_t i = 0; i < nodes.size(); ++i) {
      JsonObject node(nodes[i], fmt::format("{}/{}", object.pointer("nodes"), i));
      operations.push_back(read_operation(node));
      note_rest(node);
    }
    return operations;
  }

  graph::Operation read_operation(JsonObject& node) {
    std::vector<std::string> names;
    std::optional<graph::Operation> read;
    const Json& kind = node.at("operation", "CUDNN_BACKEND_OPERATION_…_DESCRIPTOR");
    graph::for_each_operation([&](auto table) {
      names.emplace_back(table.descriptor.name);
      if (!read && kind == names.back()) read = read_as<typename decltype(table)::Op>(node);
    });
    if (!read) node.fail("operation", kind, quoted_list(names));
    return *read;
  }

  template <class Op>
  Op read_as(JsonObject& node) {
    Op op;
    graph::for_each_row<Op>([&](const auto& row) {
      if (!row.json.empty()) read_row(node, row, op.*row.member);
    });
    read_by_code(node, op);
    return op;
  }

  template <class Row, class T>
  void read_row(JsonObject& node, const Row& row, T& value) {
    const std::string key = key_in(node, row.json);
    if constexpr (Row::is == graph::RowIs::input || Row::is == graph::RowIs::output) {
      if constexpr (std::is_same_v<T, graph::Uid>)
        value = node.needed_port(key);
      else
        value = node.port(key);
    } else if constexpr (std::is_enum_v<T>) {
      value = node.named<T>(key);
    } else if constexpr (std::is_same_v<T, bool>) {
      value = node.boolean(key);
    } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
      value = node.integers(key);
    } else if constexpr (std::is_same_v<T, std::optional<double>>) {
      value = node.number(key);
    } else {
      static_assert(std::is_same_v<T, std::optional<int64_t>>);
      value = node.integer(key);
    }
  }

  // The key that is there; the newest where none is.
  static std::string key_in(JsonObject& node, std::string_view keys) {
    const std::vector<std::string> all = split(keys, '|');
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& key) { return node.find(key) != nullptr; });
    return found == all.end() ? all.front() : *found;
  }

  // What no rule covers, after what the table says has been read.
  template <class Op>
  void read_by_code(JsonObject&, Op&) {}

  void read_by_code(JsonObject& node, graph::Pointwise& op) {
    // One is what cuDNN takes where nothing is set.
    if (op.alpha1 == 1) op.alpha1.reset();
    if (op.alpha2 == 1) op.alpha2.reset();
    // Of activations, as cuDNN writes them where nothing is set (9.19).
    constexpr std::pair<const char*, double> parameters[] = {
        {"lowerClip", 0},      {"upperClip", std::numeric_limits<double>::max()},
        {"lowerClipSlope", 0}, {"beta", 1},
        {"eluAlpha", 1},       {"softplusBeta", 1},
        {"swishBeta", 1}};
    for (const auto& [key, usual] : parameters)
      if (const auto value = node.number(key); value && *value != usual)
        lose(fmt::format("{} {} of {}", key, *value, name_of(op.mode)));
  }

  void read_by_code(JsonObject& node, graph::Reduction& op) {
    if (node.boolean("isDeterministic")) lose(fmt::format("that the reduction to tensor {} is deterministic", op.y));
  }

  void read_by_code(JsonObject& node, graph::Reshape& op) {
    if (const Json* mode = node.find("mode"); mode != nullptr && *mode != "CUDNN_RESHAPE_VIEW_ONLY")
      lose(fmt::format("the mode {} of the reshape to tensor {}", json_text(*mode), op.y));
  }

  // cuDNN writes a constant seed where there is a tensor for it, too.
  void read_by_code(JsonObject&, graph::Rng& op) {
    if (op.seed) op.constant_seed.reset();
  }

  void read_by_code(JsonObject& node, graph::SdpaForward& op) {
    if (const Json* inner = node.find("softmax")) {
      JsonObject object(*inner, node.pointer("softmax"));
      object.find("operation");
      const auto part = read_as<graph::Softmax>(object);
      note_rest(object);
      op.softmax_x = part.x;
      op.softmax_y = part.y;
      op.sink = part.sink;
      op.stats = part.stats;
      op.max = part.max;
      op.sum_exp = part.sum_exp;
    }
    read_scores(node);
  }

  void read_by_code(JsonObject& node, graph::SdpaBackward&) { read_scores(node); }

  void read_scores(JsonObject& node) {
    const Json* inner = node.find("subgraph");
    if (inner == nullptr) return;
    JsonObject object(*inner, node.pointer("subgraph"));
    object.find("finalizeMode");
    read_tensors(object);
    result_.graph.score_operations = read_operations(object);
    note_rest(object);
  }

  // The softmax inside a unified SDPA operation has tensors that stand in no list (9.21).
  void check_ports() {
    for (const auto* list : {&result_.graph.operations, &result_.graph.score_operations})
      for (const auto& operation : *list)
        for (const auto& port : ports(operation))
          if (known_.count(port.uid) == 0)
            throw Error(ErrorKind::usage,
                        fmt::format("operationGraph: port {} of {} is tensor {}, which is in no list of tensors",
                                    port.name, operation_name(operation), port.uid));
  }

  void note_rest(const JsonObject& object) {
    for (const auto& key : object.left())
      lose(fmt::format("\"{}\", which attnprobe does not know", object.pointer(key)));
  }

  void lose(std::string what) { result_.missing.push_back(std::move(what)); }

  ImportedGraph result_;
  std::set<graph::Uid> known_;
};

}  // namespace

ImportedGraph import_backend_json(const Json& operation_graph) {
  return BackendJsonImport().run(operation_graph);
}

}  // namespace attnprobe::importers
