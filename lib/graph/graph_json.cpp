// OpGraph as JSON.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <set>
#include <type_traits>
#include <utility>

#include "base/json_reader.hpp"
#include "graph/operation_table.hpp"

namespace attnprobe::graph {
namespace {

template <class T>
Json value_json(const T& value) {
  if constexpr (std::is_enum_v<T>)
    return name_of(value);
  else
    return value;
}

template <class T>
Json value_json(const std::optional<T>& value) {
  return value ? value_json(*value) : Json();
}

// JSON has no infinities, but masks fill with minus infinity.
Json number_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

double number_in(const JsonView& view) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Json& json = view.json();
  if (json == "inf") return infinity;
  if (json == "-inf") return -infinity;
  if (json == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (!json.is_number()) view.fail_unless_it_is("a number, \"inf\", \"-inf\" or \"nan\"");
  return view.number();
}

Json to_json(const Tensor& t) {
  Json json = {{"uid", t.uid}};
  if (!t.name.empty()) json["name"] = t.name;
  if (t.role != role_of_name(t.name)) json["role"] = name_of(t.role);
  json["data_type"] = name_of(t.data_type);
  json["dims"] = t.dims;
  json["strides"] = t.strides;
  json["alignment"] = t.alignment;
  json["virtual"] = t.is_virtual;
  json["by_value"] = t.by_value;
  if (t.reordering != Reordering::NONE) json["reordering"] = name_of(t.reordering);
  if (t.ragged_offset) json["ragged_offset"] = *t.ragged_offset;
  if (t.ragged_multiplier) json["ragged_multiplier"] = *t.ragged_multiplier;
  if (t.value) json["value"] = number_json(*t.value);
  return json;
}

Json to_json(const Operation& operation) {
  return std::visit(
      [](const auto& op) {
        Json json = {{"kind", kind_name<std::decay_t<decltype(op)>>}};
        auto put = [&](const char* name, const auto& value, auto...) {
          if (Json entry = value_json(value); !entry.is_null()) json[name] = std::move(entry);
        };
        for_each_attribute(op, put);
        for_each_port(op, put);
        return json;
      },
      operation);
}

template <class T>
void read(const JsonView& view, T& value) {
  if constexpr (std::is_enum_v<T>)
    value = view.one_of<T>();
  else if constexpr (std::is_same_v<T, bool>)
    value = view.boolean();
  else if constexpr (std::is_same_v<T, double>)
    value = number_in(view);
  else if constexpr (std::is_same_v<T, std::string>)
    value = view.text();
  else if constexpr (std::is_same_v<T, std::vector<int64_t>>)
    value = view.integers();
  else
    value = view.integer();
}

template <class T>
void read(const JsonView& view, std::optional<T>& value) {
  read(view, value.emplace());
}

// Keeps the value if the key is absent.
template <class T>
void get_or_keep(JsonObject& object, const char* key, T& value) {
  if (const auto member = object.find(key)) read(*member, value);
}

template <class T>
void get(JsonObject& object, const char* key, T& value) {
  read(object.take(key), value);
}

template <class T>
void get(JsonObject& object, const char* key, std::optional<T>& value) {
  get_or_keep(object, key, value);
}

Tensor read_tensor(const JsonView& place) {
  Tensor t;
  JsonObject object(place);
  get(object, "uid", t.uid);
  get_or_keep(object, "name", t.name);
  t.role = role_of_name(t.name);
  get_or_keep(object, "role", t.role);
  get(object, "data_type", t.data_type);
  get(object, "dims", t.dims);
  get(object, "strides", t.strides);
  get_or_keep(object, "alignment", t.alignment);
  get_or_keep(object, "virtual", t.is_virtual);
  get_or_keep(object, "by_value", t.by_value);
  get_or_keep(object, "reordering", t.reordering);
  get(object, "ragged_offset", t.ragged_offset);
  get(object, "ragged_multiplier", t.ragged_multiplier);
  get(object, "value", t.value);
  object.finish();
  if (t.dims.size() != t.strides.size())
    place.at("strides").fail_unless_it_is(fmt::format("{} integers, one for each of \"dims\"", t.dims.size()));
  return t;
}

template <class Op>
Op read_operation_of_kind(JsonObject& object) {
  Op op;
  auto read_member = [&](const char* name, auto& value, auto...) { get(object, name, value); };
  for_each_attribute(op, read_member);
  for_each_port(op, read_member);
  object.finish();
  return op;
}

template <size_t... I>
Operation read_operation(const JsonView& place, std::index_sequence<I...>) {
  JsonObject object(place);
  const std::string kind = object.take("kind").word({kind_name<std::variant_alternative_t<I, Operation>>...});
  Operation operation;
  auto read_if = [&]<class Op>(std::type_identity<Op>) {
    if (kind == kind_name<Op>) operation = read_operation_of_kind<Op>(object);
  };
  (read_if(std::type_identity<std::variant_alternative_t<I, Operation>>()), ...);
  return operation;
}

Operation read_operation(const JsonView& place) {
  return read_operation(place, std::make_index_sequence<std::variant_size_v<Operation>>());
}

std::vector<Operation> read_operations(const JsonView& list, const std::set<Uid>& uids) {
  std::vector<Operation> operations;
  for (const JsonView& place : list.elements()) {
    operations.push_back(read_operation(place));
    for (const auto& port : ports(operations.back()))
      if (uids.count(port.uid) == 0)
        place.at(port.name).fail(fmt::format("port \"{}\" names tensor {}, which does not exist", port.name, port.uid));
  }
  return operations;
}

}  // namespace

Json to_json(const OpGraph& graph) {
  Json json = {{"tensors", Json::array()}, {"operations", Json::array()}};
  for (const auto& t : graph.tensors) json["tensors"].push_back(to_json(t));
  for (const auto& operation : graph.operations) json["operations"].push_back(to_json(operation));
  for (const auto& operation : graph.score_operations) json["score_operations"].push_back(to_json(operation));
  if (graph.dynamic_shapes) json["dynamic_shapes"] = true;
  if (graph.override_shapes) json["override_shapes"] = true;
  return json;
}

OpGraph from_json(const Json& json) {
  JsonObject object(JsonView(json, {"operation graph"}));
  OpGraph graph;
  std::set<Uid> uids;
  const std::vector<JsonView> tensors = object.take("tensors").elements();
  for (const JsonView& place : tensors) {
    graph.tensors.push_back(read_tensor(place));
    const Uid uid = graph.tensors.back().uid;
    if (!uids.insert(uid).second) place.at("uid").fail(fmt::format("a second tensor with uid {}", uid));
  }
  for (size_t i = 0; i < tensors.size(); ++i)
    if (const auto offset = graph.tensors[i].ragged_offset; offset && uids.count(*offset) == 0)
      tensors[i].at("ragged_offset").fail(fmt::format("tensor {} does not exist", *offset));
  graph.operations = read_operations(object.take("operations"), uids);
  if (const auto scores = object.find("score_operations")) graph.score_operations = read_operations(*scores, uids);
  get_or_keep(object, "dynamic_shapes", graph.dynamic_shapes);
  get_or_keep(object, "override_shapes", graph.override_shapes);
  object.finish();
  return graph;
}

}  // namespace attnprobe::graph
