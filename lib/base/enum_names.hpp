// Names of enumerators: one table per enum serves parsing, printing, JSON, schemas and "did you mean".
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"

namespace attnprobe {

/// The names of an enum: from ATTNPROBE_ENUM, or from a specialisation with its own `table` if the names differ.
template <class E>
struct EnumNames {
  static constexpr auto table = enum_table(E{});
};

template <class E>
constexpr std::string_view name_of(E value) {
  for (const auto& [e, name] : EnumNames<E>::table)
    if (e == value) return name;
  return "?";
}

template <class E>
constexpr std::optional<E> parse_enum(std::string_view text) {
  for (const auto& [e, name] : EnumNames<E>::table)
    if (name == text) return e;
  return std::nullopt;
}

template <class E>
std::vector<std::string> names_of() {
  std::vector<std::string> names;
  names.reserve(EnumNames<E>::table.size());
  for (const auto& [e, name] : EnumNames<E>::table) names.emplace_back(name);
  return names;
}

/// Throws Error(internal) for a value that is not an enumerator.
template <class E>
E enum_of(const Json& json) {
  if (json.is_string())
    if (const auto value = parse_enum<E>(json.get_ref<const std::string&>())) return *value;
  std::string names;
  for (const auto& name : names_of<E>()) names += (names.empty() ? "" : ", ") + name;
  throw Error(ErrorKind::internal, json.dump() + " is not one of " + names);
}

}  // namespace attnprobe

// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot be in parentheses.
/// Defines to_json and from_json in the enum's namespace. EnumNames must be specialised first.
#define ATTNPROBE_JSON_ENUM(Enum)                                     \
  inline void to_json(::attnprobe::Json& json, Enum value) {          \
    json = ::attnprobe::name_of(value);                               \
  }                                                                   \
  inline void from_json(const ::attnprobe::Json& json, Enum& value) { \
    value = ::attnprobe::enum_of<Enum>(json);                         \
  }

#define ATTNPROBE_ENUM_ENTRY(name) {Value::name, #name},

/// Use after an enum, in its namespace: names each enumerator as it is spelled, and defines to_json and from_json.
#define ATTNPROBE_ENUM(Enum, ...)                                                        \
  constexpr auto enum_table(Enum) {                                                      \
    using Value = Enum;                                                                  \
    return std::to_array<std::pair<Value, std::string_view>>(                            \
        {NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(ATTNPROBE_ENUM_ENTRY, __VA_ARGS__))}); \
  }                                                                                      \
  ATTNPROBE_JSON_ENUM(Enum)
// NOLINTEND(bugprone-macro-parentheses)
