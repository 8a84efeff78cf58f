// Numbers written as a range: "8:512:8", "1:65536:x2", "1:4096".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_reader.hpp"

namespace attnprobe::attention {

struct Range {
  int64_t first = 1, last = 1;  ///< inclusive; `last` counts only if a step lands on it
  int64_t step = 1;             ///< added, or multiplied if the range is geometric
  bool geometric = false;
};

/// Whether a text looks like a range, whatever its numbers: digits, a colon, digits.
bool looks_like_range(const std::string& text);

/// Parses a range. Throws an Error of the view's kind at its place for text that is not a range. Also throws it for a
/// descending range and a step of 0 (or ×1).
Range read_range(const JsonView& text);

/// The number of values.
uint64_t count_of(const Range& range);

/// All values, ascending.
std::vector<int64_t> values_of(const Range& range);

/// "8:512:8", "1:65536:x2", "1:4096".
std::string text_of(const Range& range);

/// Replaces every range in the value, single or in an array, by its numbers; none if it has no range.
std::optional<Json> with_ranges(const JsonView& value);

}  // namespace attnprobe::attention
