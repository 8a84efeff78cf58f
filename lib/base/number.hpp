// Strict parsing of numbers, and numbers formatted for readers.
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace attnprobe {

/// Parses the whole text. Returns none for anything else and for a number that T cannot represent.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// A size in any spelling: "4096", "4_096", "4k" (k: 1024), "128K", "1M", "1e3"; none for anything else.
std::optional<int64_t> parse_size(std::string_view text);

/// a * b, clamped to the range of int64_t.
inline int64_t saturated_product(int64_t a, int64_t b) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  return (a < 0) == (b < 0) ? most : -most;
}

/// "12,000". Precondition: not negative.
inline std::string with_commas(int64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

/// "1 finding", "12 findings".
inline std::string counted(int64_t number, std::string_view what) {
  return std::to_string(number) + " " + std::string(what) + (number == 1 ? "" : "s");
}

/// "once", "12 times".
inline std::string as_often(int64_t number) {
  return number == 1 ? "once" : std::to_string(number) + " times";
}

}  // namespace attnprobe
