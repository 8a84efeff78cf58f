// Parses values in cuDNN's log lines: enum names, numbers, lists.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "base/data_type.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "graph/modes.hpp"
#include "log/log_tree.hpp"

namespace attnprobe::importers {

/// Throws Error(usage): line, key, value, and what is allowed.
[[noreturn]] void fail_logged(const log::LogNode& node, const std::string& allowed);

/// "CUDNN_DATA_HALF (2)" -> DataType::f16. Throws Error(usage).
DataType logged_type(const log::LogNode& node);

/// "CUDNN_POINTWISE_MUL (1)" -> MUL, given the prefix "CUDNN_POINTWISE_". Throws Error(usage).
template <class E>
E logged_enum(const log::LogNode& node, std::string_view prefix) {
  const std::string_view word = std::string_view(node.value).substr(0, node.value.find(' '));
  if (word.substr(0, prefix.size()) == prefix)
    if (const auto value = parse_enum<E>(word.substr(prefix.size()))) return *value;
  fail_logged(node, fmt::format("{} and one of {}", prefix, quoted_list(names_of<E>())));
}

/// "3" -> the fourth enumerator: the log has no names for these.
template <class E>
std::optional<E> logged_enumerator(const std::string& text) {
  size_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  const auto& table = EnumNames<E>::table;
  if (error != std::errc() || end != text.data() + text.size() || index >= table.size()) return std::nullopt;
  return table[index].first;
}

/// The whole of `text` as a number, or nothing.
template <class T>
std::optional<T> logged_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Each throws Error(usage).
int64_t logged_integer(const log::LogNode& node);
bool logged_bool(const log::LogNode& node);
/// "[4,12,1024,64]"
std::vector<int64_t> logged_integers(const log::LogNode& node);

}  // namespace attnprobe::importers
