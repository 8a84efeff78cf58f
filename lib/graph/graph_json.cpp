// OpGraph as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
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

// JSON has no infinities, and masks fill with minus infinity.
Json number_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

std::optional<double> parse_number(const Json& json) {
  if (json.is_number()) return json.get<double>();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (json == "inf") return infinity;
  if (json == "-inf") return -infinity;
  if (json == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
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

// Reading: every key must be known, and every key that is not optional must be there.
class Reader {
 public:
  Reader(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) fail("expected an object");
  }

  template <class T>
  void get(const char* key, T& value) {
    seen_.emplace_back(key);
    if (!object_.contains(key)) fail(fmt::format("the key \"{}\" is missing", key));
    read(key, object_[key], value);
  }

  template <class T>
  void get(const char* key, std::optional<T>& value) {
    seen_.emplace_back(key);
    if (!object_.contains(key)) return;
    T inner{};
    read(key, object_[key], inner);
    value = inner;
  }

  // Like get, but the value stays as it is where the key is absent.
  template <class T>
  void get_or_keep(const char* key, T& value) {
    if (object_.contains(key))
      get(key, value);
    else
      seen_.emplace_back(key);
  }

  void finish() const {
    for (const auto& [key, value] : object_.items())
      if (std::find(seen_.begin(), seen_.end(), key) == seen_.end()) fail(fmt::format("unknown key \"{}\"", key));
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw Error(ErrorKind::usage, fmt::format("operation graph: {}: {}", where_, message));
  }

 private:
  template <class T>
  void read(const char* key, const Json& json, T& value) {
    if constexpr (std::is_enum_v<T>) {
      const auto parsed = json.is_string() ? parse_enum<T>(json.get<std::string>()) : std::nullopt;
      if (!parsed) fail(fmt::format("\"{}\" is {}, which is not a known value", key, json_text(json)));
      value = *parsed;
    } else if constexpr (std::is_same_v<T, double>) {
      const auto parsed = parse_number(json);
      if (!parsed) fail(fmt::format("\"{}\" is {}, which is not a number", key, json_text(json)));
      value = *parsed;
    } else {
      try {
        value = json.get<T>();
        // The library rounds 1.5 to an integer in silence.
        if (json_text(Json(value)) != json_text(json)) throw Json::type_error::create(302, "not exact", &json);
      } catch (const Json::exception&) {
        fail(fmt::format("\"{}\" is {}, which has the wrong type", key, json_text(json)));
      }
    }
  }

  const Json& object_;
  std::string where_;
  std::vector<std::string> seen_;
};

Tensor read_tensor(const Json& json, const std::string& where) {
  Tensor t;
  Reader reader(json, where);
  reader.get("uid", t.uid);
  reader.get_or_keep("name", t.name);
  t.role = role_of_name(t.name);
  reader.get_or_keep("role", t.role);
  reader.get("data_type", t.data_type);
  reader.get("dims", t.dims);
  reader.get("strides", t.strides);
  reader.get_or_keep("alignment", t.alignment);
  reader.get_or_keep("virtual", t.is_virtual);
  reader.get_or_keep("by_value", t.by_value);
  reader.get_or_keep("reordering", t.reordering);
  reader.get("ragged_offset", t.ragged_offset);
  reader.get("value", t.value);
  reader.finish();
  if (t.dims.size() != t.strides.size()) reader.fail("\"dims\" and \"strides\" differ in length");
  return t;
}

template <class Op>
Operation read_operation(const Json& json, const std::string& where) {
  Op op;
  Reader reader(json, where);
  std::string kind;
  reader.get("kind", kind);
  auto read = [&](const char* name, auto& value, auto...) { reader.get(name, value); };
  for_each_attribute(op, read);
  for_each_port(op, read);
  reader.finish();
  return op;
}

template <size_t I = 0>
Operation read_operation_of_kind(const std::string& kind, const Json& json, const std::string& where) {
  if constexpr (I < std::variant_size_v<Operation>) {
    using Op = std::variant_alternative_t<I, Operation>;
    if (kind == kind_name<Op>) return read_operation<Op>(json, where);
    return read_operation_of_kind<I + 1>(kind, json, where);
  } else {
    throw Error(ErrorKind::usage, fmt::format("operation graph: {}: unknown kind \"{}\"", where, kind));
  }
}

Operation read_operation(const Json& json, const std::string& where) {
  const bool named = json.is_object() && json.contains("kind") && json["kind"].is_string();
  return read_operation_of_kind(named ? json["kind"].get<std::string>() : "", json, where);
}

}  // namespace

Json to_json(const OpGraph& graph) {
  Json json = {{"tensors", Json::array()}, {"operations", Json::array()}};
  for (const auto& t : graph.tensors) json["tensors"].push_back(to_json(t));
  for (const auto& operation : graph.operations) json["operations"].push_back(to_json(operation));
  for (const auto& operation : graph.score_operations) json["score_operations"].push_back(to_json(operation));
  return json;
}

OpGraph from_json(const Json& json) {
  auto fail = [](const std::string& message) { throw Error(ErrorKind::usage, "operation graph: " + message); };
  for (const char* key : {"tensors", "operations"})
    if (!json.is_object() || !json.contains(key) || !json[key].is_array())
      fail(fmt::format("\"{}\" is missing or not an array", key));
  OpGraph graph;
  std::set<Uid> uids;
  for (size_t i = 0; i < json["tensors"].size(); ++i) {
    graph.tensors.push_back(read_tensor(json["tensors"][i], fmt::format("/tensors/{}", i)));
    if (!uids.insert(graph.tensors.back().uid).second)
      fail(fmt::format("/tensors/{}: a second tensor with uid {}", i, graph.tensors.back().uid));
  }
  for (const auto& t : graph.tensors)
    if (t.ragged_offset && uids.count(*t.ragged_offset) == 0)
      fail(fmt::format("tensor {}: its ragged offset is tensor {}, which there is not", t.uid, *t.ragged_offset));
  auto read_list = [&](const char* key, std::vector<Operation>& list) {
    const Json& entries = json[key];
    for (size_t i = 0; i < entries.size(); ++i) {
      list.push_back(read_operation(entries[i], fmt::format("/{}/{}", key, i)));
      for (const auto& port : ports(list.back()))
        if (uids.count(port.uid) == 0)
          fail(fmt::format("/{}/{}: port \"{}\" is tensor {}, which there is not", key, i, port.name, port.uid));
    }
  };
  read_list("operations", graph.operations);
  if (json.contains("score_operations")) {
    if (!json["score_operations"].is_array()) fail("\"score_operations\" is not an array");
    read_list("score_operations", graph.score_operations);
  }
  return graph;
}

}  // namespace attnprobe::graph
