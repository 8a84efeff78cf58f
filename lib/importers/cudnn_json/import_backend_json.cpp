// Imports the operation graph in cuDNN's own JSON: schema version 4, seen from 9.19 to 9.28.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/json_reader.hpp"
#include "base/text.hpp"
#include "graph/cudnn_names.hpp"
#include "graph/operation_table.hpp"
#include "importers/import.hpp"

namespace attnprobe::importers {
namespace {

// cuDNN writes null for an unset member, so null counts as absent.

std::optional<int64_t> optional_integer(JsonObject& object, const std::string& key) {
  const auto value = object.find_set(key);
  return value ? std::optional(value->integer()) : std::nullopt;
}

std::optional<double> optional_number(JsonObject& object, const std::string& key) {
  const auto value = object.find_set(key);
  return value ? std::optional(value->number()) : std::nullopt;
}

bool boolean(JsonObject& object, const std::string& key) {
  const auto value = object.find_set(key);
  return value && value->boolean();
}

// An enumerator by cuDNN's name.
template <class E>
E named(JsonObject& object, const std::string& key) {
  const JsonView value = object.take(key);
  const auto parsed = value.json().is_string() ? graph::parse_cudnn<E>(value.text()) : std::nullopt;
  if (!parsed) value.fail_unless_one_of(graph::cudnn_names_of<E>());
  return *parsed;
}

// Tensors are named by their uids.
graph::Uid uid_in(const JsonView& value) {
  if (value.json().is_number_integer()) return value.integer();
  if (value.json().is_string())
    if (const auto parsed = graph::parse_uid(value.text())) return *parsed;
  value.fail_unless_it_is("a tensor's name, which is its uid");
}

std::optional<graph::Uid> optional_port(JsonObject& object, const std::string& key) {
  const auto value = object.find_set(key);
  return value ? std::optional(uid_in(*value)) : std::nullopt;
}

graph::Uid port(JsonObject& object, const std::string& key) {
  return uid_in(object.take(key));
}

// The key that the node has, otherwise the newest key.
std::string key_in(JsonObject& node, std::string_view keys) {
  const std::vector<std::string> all = split(keys, '|');
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& key) { return node.find_set(key).has_value(); });
  return found == all.end() ? all.front() : *found;
}

class BackendJsonImport {
 public:
  ImportedGraph run(const Json& json) {
    JsonObject whole(JsonView(json, {"operationGraph", ""}));
    whole.find("finalizeMode");  // cuDNN's word for the kind of graph
    read_tensors(whole);
    result_.graph.operations = read_operations(whole);
    result_.graph.dynamic_shapes = boolean(whole, "isDynamicShapeEnabled");
    result_.graph.override_shapes = boolean(whole, "isOverrideShapeEnabled");
    note_rest(whole);
    check_ports(whole.place());
    return std::move(result_);
  }

 private:
  void read_tensors(JsonObject& object) {
    for (const JsonView& tensor : object.take("tensors").elements()) read_tensor(tensor);
  }

  // A tensor may be in several lists. A ragged offset is in the list of each of its tensors; the sub-graph of a unified
  // SDPA operation has its own list.
  graph::Uid read_tensor(const JsonView& place) {
    JsonObject object(place);
    graph::Tensor t;
    t.uid = port(object, "name");
    t.data_type = named<DataType>(object, "dataType");
    t.dims = object.take("dim").integers();
    t.strides = object.take("stride").integers();
    if (t.dims.size() != t.strides.size())
      place.at("stride").fail_unless_it_is(fmt::format("{} integers, one for each of \"dim\"", t.dims.size()));
    t.is_virtual = boolean(object, "isVirtual");
    t.by_value = boolean(object, "isByValue");
    if (const auto alignment = optional_integer(object, "ptrAlignment")) t.alignment = *alignment;
    if (object.find_set("reordering")) t.reordering = named<graph::Reordering>(object, "reordering");
    if (const auto vector = optional_integer(object, "vectCount"); vector && *vector != 1)
      lose(fmt::format("tensor {}: {} elements in a vector", t.uid, *vector));
    object.find("vectDim");
    if (const auto ragged = object.find_set("isRagged")) {
      if (!ragged->json().is_array() || ragged->json().size() > 1)
        ragged->fail_unless_it_is("an array of at most one tensor");
      for (const JsonView& offset : ragged->elements()) t.ragged_offset = read_tensor(offset);
    }
    if (const auto multiplier = optional_integer(object, "raggedOffsetMultiplier"); multiplier && *multiplier != 1)
      t.ragged_multiplier = multiplier;
    note_rest(object);
    if (known_.insert(t.uid).second) result_.graph.tensors.push_back(t);
    return t.uid;
  }

  std::vector<graph::Operation> read_operations(JsonObject& object) {
    std::vector<graph::Operation> operations;
    for (const JsonView& place : object.take("nodes").elements()) {
      JsonObject node(place);
      operations.push_back(read_operation(node));
      note_rest(node);
    }
    return operations;
  }

  graph::Operation read_operation(JsonObject& node) {
    std::vector<std::string> names;
    std::optional<graph::Operation> read;
    const JsonView kind = node.take("operation");
    graph::for_each_operation([&](auto table) {
      names.emplace_back(table.descriptor.name);
      if (!read && kind.json() == names.back()) read = read_as<typename decltype(table)::Op>(node);
    });
    if (!read) kind.fail_unless_one_of(names);
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
        value = port(node, key);
      else
        value = optional_port(node, key);
    } else if constexpr (std::is_enum_v<T>) {
      value = named<T>(node, key);
    } else if constexpr (std::is_same_v<T, bool>) {
      value = boolean(node, key);
    } else if constexpr (std::is_same_v<T, std::optional<bool>>) {
      if (boolean(node, key)) value = true;
    } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
      value = node.take(key).integers();
    } else if constexpr (std::is_same_v<T, std::optional<double>>) {
      value = optional_number(node, key);
    } else {
      static_assert(std::is_same_v<T, std::optional<int64_t>>);
      value = optional_integer(node, key);
    }
  }

  // Handles members without a rule in the table, after the table's rules.
  template <class Op>
  void read_by_code(JsonObject&, Op&) {}

  void read_by_code(JsonObject& node, graph::Pointwise& op) {
    // cuDNN uses 1 if nothing is set.
    if (op.alpha1 == 1) op.alpha1.reset();
    if (op.alpha2 == 1) op.alpha2.reset();
    // Parameters of activations, as cuDNN writes them if nothing is set (9.19).
    constexpr std::pair<const char*, double> parameters[] = {
        {"lowerClip", 0},      {"upperClip", std::numeric_limits<double>::max()},
        {"lowerClipSlope", 0}, {"beta", 1},
        {"eluAlpha", 1},       {"softplusBeta", 1},
        {"swishBeta", 1}};
    for (const auto& [key, usual] : parameters)
      if (const auto value = optional_number(node, key); value && *value != usual)
        lose(fmt::format("{} {} of {}", key, *value, name_of(op.mode)));
  }

  void read_by_code(JsonObject& node, graph::Reduction& op) {
    if (boolean(node, "isDeterministic")) lose(fmt::format("that the reduction to tensor {} is deterministic", op.y));
  }

  void read_by_code(JsonObject& node, graph::Reshape& op) {
    if (const auto mode = node.find_set("mode"); mode && mode->json() != "CUDNN_RESHAPE_VIEW_ONLY")
      lose(fmt::format("the mode {} of the reshape to tensor {}", mode->shown(), op.y));
  }

  // cuDNN writes a constant seed even if there is a seed tensor.
  void read_by_code(JsonObject&, graph::Rng& op) {
    if (op.seed) op.constant_seed.reset();
  }

  void read_by_code(JsonObject& node, graph::SdpaForward& op) {
    if (const auto inner = node.find_set("softmax")) {
      JsonObject object(*inner);
      object.find("operation");
      const auto part = read_as<graph::Softmax>(object);
      note_rest(object);
      op.softmax_x = part.x;
      op.softmax_y = part.y;
      op.sink = part.sink;
      op.stats = part.stats;
      op.max = part.max;
      op.sum_exp = part.sum_exp;
      op.stats_log2 = part.stats_log2;
    }
    read_scores(node);
  }

  void read_by_code(JsonObject& node, graph::SdpaBackward&) { read_scores(node); }

  void read_scores(JsonObject& node) {
    const auto inner = node.find_set("subgraph");
    if (!inner) return;
    JsonObject object(*inner);
    object.find("finalizeMode");
    read_tensors(object);
    result_.graph.score_operations = read_operations(object);
    note_rest(object);
  }

  // The softmax inside a unified SDPA operation has tensors that are not in any list (9.21).
  void check_ports(const JsonView& whole) const {
    for (const auto* list : {&result_.graph.operations, &result_.graph.score_operations})
      for (const auto& operation : *list)
        for (const auto& port : ports(operation))
          if (known_.count(port.uid) == 0)
            whole.fail(fmt::format("port {} of {} is tensor {}, which is in no list of tensors", port.name,
                                   operation_name(operation), port.uid));
  }

  void note_rest(const JsonObject& object) {
    for (const auto& key : object.left())
      lose(fmt::format("\"{}\", which attnprobe does not know", object.place().at(key).pointer()));
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
