// Numbers of an axis that are answered unlike their neighbours because of the config's other sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "limits/find_limits.hpp"

namespace attnprobe::limits {

/// Divisors and multiples of the sizes that the axis does not set, within its range: of a size of the axis's own kind (the other
/// number of heads, length or head dimension) up to 1,024 multiples, of any other the first 16. Precondition: the axis is a range.
std::vector<int64_t> special_numbers(const Question& question, const Row& row);

}  // namespace attnprobe::limits
