// Calls in the source of a program, as a report of a problem has it: of scaled_dot_product_attention and jax.nn.dot_product_attention, with
// the sizes that the assignments before them give.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace attnprobe::frameworks {

struct SourceCall {
  std::string framework;             ///< "torch", "jax"
  Json call;                         ///< as the readers of calls take it (framework_calls.hpp)
  int64_t line = 0;                  ///< from 1
  std::vector<std::string> guesses;  ///< what of it the source does not say: "seqlen is the first of 3 values"
};

/// The calls whose Q, K and V are known, in the order of the text; equal ones once. Lines that are not Python are passed over, and what a
/// line computes is only followed as far as sizes and types need it: nothing is executed. At most 16 calls, of the first 20,000 lines.
std::vector<SourceCall> source_calls(std::string_view text);

}  // namespace attnprobe::frameworks
