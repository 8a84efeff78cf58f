// Values of cuDNN's log lines: words of cuDNN's enums, numbers, lists.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "attnprobe/attention/data_type.hpp"
#include "attnprobe/error.hpp"
#include "attnprobe/graph/log_tree.hpp"
#include "attnprobe/graph/modes.hpp"
#include "attnprobe/text.hpp"

namespace attnprobe::graph {

/// Throws Error(usage): line, key, value, and what is allowed.
[[noreturn]] void fail_logged(const LogNode& node, const std::string& allowed);

/// "CUDNN_DATA_HALF (2)" -> DataType::f16. Throws Error(usage).
DataType logged_type(const LogNode& node);

/// "CUDNN_POINTWISE_MUL (1)" -> MUL, given the prefix "CUDNN_POINTWISE_". Throws Error(usage).
template <class E>
E logged_enum(const LogNode& node, std::string_view prefix) {
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
int64_t logged_integer(const LogNode& node);
bool logged_bool(const LogNode& node);
/// "[4,12,1024,64]"
std::vector<int64_t> logged_integers(const LogNode& node);

}  // namespace attnprobe::graph
