// Finds calls of scaled_dot_product_attention and jax.nn.dot_product_attention in a program's source, for instance in a
// bug report. Earlier assignments give the sizes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace attnprobe::frameworks {

struct SourceCall {
  std::string framework;             ///< "torch", "jax"
  Json call;                         ///< in the form of the readers of calls (framework_calls.hpp)
  int64_t line = 0;                  ///< from 1
  std::vector<std::string> guesses;  ///< guesses about open facts: "seqlen is the first of 3 values"
};

/// The calls with known Q, K and V, in text order, without duplicates. Skips lines that are not Python and executes
/// nothing: it follows computations only as far as sizes and types require. At most 16 calls, from the text that
/// program_in() keeps.
std::vector<SourceCall> source_calls(std::string_view text);

}  // namespace attnprobe::frameworks
