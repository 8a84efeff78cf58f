// A text that is a number from its first character to its last.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace attnprobe {

/// None for anything else, and for what T cannot hold.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace attnprobe
