// Small text helpers that messages for people need.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace attnprobe {

/// The candidate nearest to `word` by edit distance (insert, delete, replace, swap of neighbours; case does not count),
/// or "" when none is near enough to be a likely slip of the keyboard (at most a third of the word, at least 1, and
/// never the whole word). A word that a candidate begins with is near, too.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// ` (did you mean "x"?)` or "".
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

/// `"a", "b", "c"`.
std::string quoted_list(const std::vector<std::string>& words);

/// The parts of `text` between separators, empty ones included; "" is one empty part.
std::vector<std::string> split(std::string_view text, char separator);

/// `value` as JSON text, whatever bytes its strings hold (cuDNN's
/// are not promised to be UTF-8): on one line, or indented.
std::string json_text(const Json& value, int indent = -1);

/// A key as a part of a JSON pointer (RFC 6901: "~" and "/" are written "~0" and "~1").
std::string pointer_part(std::string key);

/// "512 B", "96 KiB", "256 MiB": whole units, rounded down from ten of them on.
std::string bytes_text(int64_t bytes);

/// A word of a shell command line, quoted where it needs to be.
std::string shell_word(const std::string& word);

/// `text` without white space at either end.
std::string_view trim(std::string_view text);

/// A text for a message: cut where it is long, between characters of UTF-8. What a file holds may be megabytes.
std::string cut(std::string_view text);

/// Where the lines of `text` end: at a newline or a NUL, as in cuDNN's logs. One search for each of the two (memchr): a
/// search for both at once goes byte by byte, and logs are long. Each is searched for once, however many there are of
/// the other.
class LineEnds {
 public:
  explicit LineEnds(std::string_view text) : text_(text), nul_(text.find('\0')), newline_(text.find('\n')) {}
  /// The first at or behind `begin`, which never goes back; npos: the last line is open.
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
