// The JSON type of attnprobe. It keeps the order of keys, so reports keep the order in which they were written.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace attnprobe {
using Json = nlohmann::ordered_json;
}

namespace attnprobe {
/// An empty object with reserved capacity. A growing ordered object deep-copies its members, because its keys are
/// constant.
inline Json object_with_room(size_t members) {
  Json object = Json::object();
  object.get_ref<Json::object_t&>().reserve(members);
  return object;
}

/// A member as JSON; an empty std::optional gives null. A serializer in namespace nlohmann would clash with the
/// including program's.
template <class T>
void put(Json& json, const T& value) {
  json = value;
}
template <class T>
void put(Json& json, const std::optional<T>& value) {
  if (value)
    json = *value;
  else
    json = nullptr;
}

/// The inverse of member_json.
template <class T>
void take(const Json& json, T& value) {
  json.get_to(value);
}
template <class T>
void take(const Json& json, std::optional<T>& value) {
  if (json.is_null())
    value.reset();
  else
    value = json.template get<T>();
}

/// The number of names in "a, b, c".
constexpr size_t names_in(std::string_view list) {
  return 1 + static_cast<size_t>(std::count(list.begin(), list.end(), ','));
}
}  // namespace attnprobe

#define ATTNPROBE_PUT_MEMBER(member) ::attnprobe::put(json[#member], object.member);
#define ATTNPROBE_TAKE_MEMBER(member) ::attnprobe::take(json.at(#member), object.member);
#define ATTNPROBE_ARCHIVE_MEMBER(member) archive(object.member);

/// For a plain struct, in its namespace: to_json and from_json with the members' own names, and serialize() for
/// cereal's binary format.
#define ATTNPROBE_JSON(Type, ...)                                                    \
  inline void to_json(::attnprobe::Json& json, const Type& object) {                 \
    json = ::attnprobe::object_with_room(::attnprobe::names_in(#__VA_ARGS__));       \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(ATTNPROBE_PUT_MEMBER, __VA_ARGS__))     \
  }                                                                                  \
  inline void from_json(const ::attnprobe::Json& json, Type& object) {               \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(ATTNPROBE_TAKE_MEMBER, __VA_ARGS__))    \
  }                                                                                  \
  template <class Archive>                                                           \
  void serialize(Archive& archive, Type& object) {                                   \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(ATTNPROBE_ARCHIVE_MEMBER, __VA_ARGS__)) \
  }
