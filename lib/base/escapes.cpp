#include "base/escapes.hpp"

#include <algorithm>

namespace attnprobe {

size_t escape_sequence_length(std::string_view text) {
  if (text.size() < 2) return 1;
  const bool has_parameters = text[1] == '[', is_title = text[1] == ']';
  if (!has_parameters && !is_title) return 2;
  size_t end = 2;
  while (end < text.size() &&
         (has_parameters ? text[end] < '@' || text[end] > '~' : text[end] != '\a' && text[end] != '\x1b'))
    ++end;
  return std::min(end + 1, text.size());
}

std::string without_escapes(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (size_t at = text.find('\x1b'); at != std::string_view::npos; at = text.find('\x1b')) {
    plain += text.substr(0, at);
    text.remove_prefix(at);
    text.remove_prefix(escape_sequence_length(text));
  }
  plain += text;
  return plain;
}

}  // namespace attnprobe
