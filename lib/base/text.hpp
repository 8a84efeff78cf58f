// Small text functions for messages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace attnprobe {

/// In lower case. ASCII only: all our names are ASCII, and "BF16" is a likely way to write "bf16".
std::string in_small_letters(std::string_view word);

/// The candidate nearest to `word`, or "" if no candidate is a likely typo. The edit distance (insert, delete, replace,
/// swap neighbours, any case) is at most a third of the word, but at least 1. It is also less than the word's length. A
/// prefix of a candidate also counts as near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// ` (did you mean "x"?)` or "".
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

/// `"a", "b", "c"`.
std::string quoted_list(const std::vector<std::string>& words);

/// The parts of `text` between separators, including empty parts; "" has one empty part.
std::vector<std::string> split(std::string_view text, char separator);

/// `value` as JSON text on one line, or indented. Its strings may hold any bytes: cuDNN does not promise UTF-8.
std::string json_text(const Json& value, int indent = -1);

/// A key as part of a JSON pointer (RFC 6901: "~" and "/" are written "~0" and "~1").
std::string pointer_part(std::string key);

/// "512 B", "96 KiB", "256 MiB": whole units, rounded down; at least ten of a unit.
std::string bytes_text(int64_t bytes);

/// A word of a shell command line, quoted if necessary.
std::string shell_word(const std::string& word);

/// At most `most` bytes from `begin`, without a part of a UTF-8 letter at either end.
std::string_view whole_letters(std::string_view text, size_t begin, size_t most);

/// `text` without leading and trailing white space.
std::string_view trim(std::string_view text);

/// Shortens a text for a message, between UTF-8 characters: a value in a file may be megabytes long.
std::string cut(std::string_view text);

/// Finds where the lines of `text` end: at a newline or a NUL, as in cuDNN's logs. Searches for each separately with
/// memchr, because a combined search goes byte by byte and logs are long. Remembers both positions, so no byte is
/// searched twice.
class LineEnds {
 public:
  explicit LineEnds(std::string_view text) : text_(text), nul_(text.find('\0')), newline_(text.find('\n')) {}
  /// The first line end at or after `begin`, which must not decrease; npos if the last line has no end.
  size_t find(size_t begin) {
    if (nul_ < begin) nul_ = text_.find('\0', begin);
    if (newline_ < begin) newline_ = text_.find('\n', begin);
    return std::min(newline_, nul_);
  }

 private:
  std::string_view text_;
  size_t nul_, newline_;
};

}  // namespace attnprobe
