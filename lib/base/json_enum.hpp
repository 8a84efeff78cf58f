// Enumerators in JSON: by the names of EnumNames.
#pragma once

#include <string>

#include "enum_names.hpp"
#include "error.hpp"
#include "json.hpp"

namespace attnprobe {

/// Throws Error(internal) for what names none of them.
template <class E>
E enum_of(const Json& json) {
  if (json.is_string())
    if (const auto value = parse_enum<E>(json.get_ref<const std::string&>())) return *value;
  std::string names;
  for (const auto& name : names_of<E>()) names += (names.empty() ? "" : ", ") + name;
  throw Error(ErrorKind::internal, json.dump() + " is not one of " + names);
}

}  // namespace attnprobe

// NOLINTBEGIN(bugprone-macro-parentheses): a type has no parentheses.
/// to_json and from_json of an enum, in its own namespace; its EnumNames must stand before.
#define ATTNPROBE_JSON_ENUM(Enum)                                     \
  inline void to_json(::attnprobe::Json& json, Enum value) {          \
    json = ::attnprobe::name_of(value);                               \
  }                                                                   \
  inline void from_json(const ::attnprobe::Json& json, Enum& value) { \
    value = ::attnprobe::enum_of<Enum>(json);                         \
  }
// NOLINTEND(bugprone-macro-parentheses)
