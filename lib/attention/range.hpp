// Numbers written as a range: "8:512:8", "1:65536:x2", "1:4096".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_reader.hpp"

namespace attnprobe::attention {

struct Range {
  int64_t first = 1, last = 1;  ///< inclusive; `last` is a value only if a step reaches it
  int64_t step = 1;             ///< summand, or factor of a geometric range
  bool geometric = false;
};

/// Whether a text looks like a range, valid or not: digits, a colon, digits.
bool looks_like_range(const std::string& text);

/// Parses a range. Throws an Error of the view's kind at its place for other text, for a descending range, and for a
/// step of 0 (or ×1).
Range read_range(const JsonView& text);

/// The number of values.
uint64_t count_of(const Range& range);

/// All values, ascending.
std::vector<int64_t> values_of(const Range& range);

/// "8:512:8", "1:65536:x2", "1:4096".
std::string text_of(const Range& range);

/// Replaces every range in the value (single or in an array) with its numbers; none if the value has no range.
std::optional<Json> with_ranges(const JsonView& value);

}  // namespace attnprobe::attention
