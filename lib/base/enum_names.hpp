// Enumerators by name: one table per enum serves parsing, printing, schemas and "did you mean".
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attnprobe {

/// Specialise with `static constexpr std::array<std::pair<E, std::string_view>, N> table`.
template <class E>
struct EnumNames;

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

}  // namespace attnprobe
