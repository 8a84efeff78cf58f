// Numbers written as a range: "8:512:8", "1:65536:x2", "1:4096".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_reader.hpp"

namespace attnprobe::attention {

struct Range {
  int64_t first = 1, last = 1;  ///< both belong to it, the last where a step ends on it
  int64_t step = 1;             ///< what is added, or what is multiplied with where it is geometric
  bool geometric = false;
};

/// Whether a text has the form of a range, whatever its numbers: digits, a colon, digits.
bool looks_like_range(const std::string& text);

/// The range that a text names. Throws Error of the view's kind at its place for one that goes down, whose step is 0 (or
/// ×1), or which is not a range at all.
Range read_range(const JsonView& text);

/// How many values it has.
uint64_t count_of(const Range& range);

/// All of them, rising.
std::vector<int64_t> values_of(const Range& range);

/// "8:512:8", "1:65536:x2", "1:4096".
std::string text_of(const Range& range);

/// The value with every range in it, alone or in an array, as the numbers that it means; none where it has no range.
std::optional<Json> with_ranges(const JsonView& value);

}  // namespace attnprobe::attention
