// JSON as attnprobe uses it everywhere: key order is kept, so that reports read in the order they were written.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace attnprobe {
using Json = nlohmann::ordered_json;
}

// std::optional is null in JSON; the library does this itself only from 3.12 on.
#if NLOHMANN_JSON_VERSION_MAJOR == 3 && NLOHMANN_JSON_VERSION_MINOR < 12
namespace nlohmann {
template <class T>
struct adl_serializer<std::optional<T>> {
  template <class J>
  static void to_json(J& json, const std::optional<T>& value) {
    if (value)
      json = *value;
    else
      json = nullptr;
  }
  template <class J>
  static void from_json(const J& json, std::optional<T>& value) {
    if (json.is_null())
      value.reset();
    else
      value = json.template get<T>();
  }
};
}  // namespace nlohmann
#endif

namespace attnprobe {
/// An empty object with room for so many members: as an ordered object
/// grows it copies what it holds, deeply, since its keys are constant.
inline Json object_with_room(size_t members) {
  Json object = Json::object();
  object.get_ref<Json::object_t&>().reserve(members);
  return object;
}

/// The number of names in "a, b, c".
constexpr size_t names_in(std::string_view list) {
  return 1 + static_cast<size_t>(std::count(list.begin(), list.end(), ','));
}
}  // namespace attnprobe

#define ATTNPROBE_ARCHIVE_MEMBER(member) archive(object.member);

/// to_json and from_json of a plain struct, its members under their own names, and serialize(), by which cereal writes
/// and reads it in binary. In the struct's namespace.
#define ATTNPROBE_JSON(Type, ...)                                                          \
  inline void to_json(::attnprobe::Json& nlohmann_json_j, const Type& nlohmann_json_t) {   \
    nlohmann_json_j = ::attnprobe::object_with_room(::attnprobe::names_in(#__VA_ARGS__));  \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_TO, __VA_ARGS__))               \
  }                                                                                        \
  inline void from_json(const ::attnprobe::Json& nlohmann_json_j, Type& nlohmann_json_t) { \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_FROM, __VA_ARGS__))             \
  }                                                                                        \
  template <class Archive>                                                                 \
  void serialize(Archive& archive, Type& object) {                                         \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(ATTNPROBE_ARCHIVE_MEMBER, __VA_ARGS__))       \
  }
