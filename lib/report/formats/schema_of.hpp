// JSON Schema of plain structs, from the members that ATTNPROBE_JSON writes. Internal to lib/report.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/enum_names.hpp"
#include "base/json.hpp"
#include "base/version.hpp"

namespace attnprobe::report::schema_of {

inline Json type(const char* name) {
  return {{"type", name}};
}
inline Json or_null(const Json& schema) {
  return {{"anyOf", Json::array({schema, type("null")})}};
}
inline Json array_of(const Json& items) {
  return {{"type", "array"}, {"items", items}};
}
inline Json reference(const std::string& name) {
  return {{"$ref", "#/$defs/" + name}};
}
inline Json count() {
  return {{"type", "integer"}, {"minimum", 0}};
}
inline Json described(Json schema, const std::string& text) {
  schema["description"] = text;
  return schema;
}
template <class E>
Json one_of() {
  return {{"type", "string"}, {"enum", names_of<E>()}};
}

/// The name of a struct's definition in the schema; "" for an inline definition.
template <class T>
inline constexpr const char* definition = "";

template <class T>
Json of_struct();

/// The schema for members of that type.
template <class T>
struct Of {
  static Json make() {
    if constexpr (std::is_same_v<T, bool>)
      return type("boolean");
    else if constexpr (std::is_enum_v<T>)
      return one_of<T>();
    else if constexpr (std::is_integral_v<T>)
      return type("integer");
    else if constexpr (std::is_floating_point_v<T>)
      return type("number");
    else if constexpr (std::is_same_v<T, std::string>)
      return type("string");
    else if constexpr (*definition<T> != '\0')
      return reference(definition<T>);
    else
      return of_struct<T>();
  }
};
template <class T>
struct Of<std::optional<T>> {
  static Json make() { return or_null(Of<T>::make()); }
};
template <class T>
struct Of<std::vector<T>> {
  static Json make() { return array_of(Of<T>::make()); }
};
/// A version is the number that its library reports: see to_json(Version).
template <class Library>
struct Of<Version<Library>> {
  static Json make() { return Of<int64_t>::make(); }
};
template <class T>
struct Of<std::map<std::string, T>> {
  static Json make() { return {{"type", "object"}, {"additionalProperties", Of<T>::make()}}; }
};

/// An archive in cereal's form that records members instead of writing them.
class Members {
 public:
  template <class T>
  void operator()(const T&) {
    schemas.push_back(Of<T>::make());
  }
  std::vector<Json> schemas;
};

/// Every member is required, with its own name.
template <class T>
Json of_struct() {
  T object{};
  Members members;
  serialize(members, object);
  Json schema = {{"type", "object"}, {"properties", Json::object()}, {"required", Json::array()}};
  const Json named = object;
  size_t i = 0;
  for (const auto& [name, value] : named.items()) {
    schema["properties"][name] = std::move(members.schemas.at(i++));
    schema["required"].push_back(name);
  }
  return schema;
}

}  // namespace attnprobe::report::schema_of
