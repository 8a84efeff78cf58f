// The shape of an attention as prose and configs of other programs tell it: "head size 256", "num_key_value_heads: 8".
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace attnprobe::diagnose {

/// What is told in two ways has two values. Each of at most 16.
struct TextShape {
  std::vector<int64_t> head_dims, seqlens, heads, heads_kv, batches;
  bool is_causal = false, is_not_causal = false;
  bool is_forward = false, is_backward = false;
};

/// Adds what `text` tells.
void add_shape(TextShape& shape, std::string_view text);

}  // namespace attnprobe::diagnose
