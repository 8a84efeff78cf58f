// Numbers of an axis with unusual answers because of the config's other sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "studies/limits/find_limits.hpp"

namespace attnprobe::limits {

/// Divisors and multiples, within the axis's range, of the sizes that the axis does not set. For a size of the same
/// kind, up to 1,024 multiples; otherwise the first 16. The kinds are heads, lengths and head dimensions. Precondition:
/// the axis is a range.
std::vector<int64_t> special_numbers(const Question& question, const Row& row);

}  // namespace attnprobe::limits
