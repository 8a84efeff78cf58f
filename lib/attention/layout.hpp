// Memory layouts of Q, K, V and O: names such as "bshd" or "bshd_bs2hd", or strides spelt out.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnprobe::attention {

/// The largest extent of a config: cuDNN's kernels count in 32 bits.
constexpr int64_t max_extent = std::numeric_limits<int32_t>::max();

/// Extents of one of Q, K, V, O in logical order.
struct TensorShape {
  int64_t batch = 0, heads = 0, seqlen = 0, head_dim = 0;
};

/// Strides in elements for the logical order {batch, heads, seqlen, head_dim}, the order of every cuDNN attention
/// tensor (K too: builders transpose it, configs don't).
using Strides = std::array<int64_t, 4>;

/// Strides of a tensor stored in the order that `axes` spells, outermost first: a permutation of "bshd", with a digit
/// where several tensors of one extent are interleaved ("bs3hd": Q, K and V of a token side by side, as Transformer
/// Engine's NVTE_BS3HD). "t" in place of "b" and "s" is a ragged tensor, whose sequences stand back to back: its
/// strides are those of a padded batch, "thd" as "bshd" (ragged offsets replace the batch stride at run time).
/// std::nullopt if `axes` is not such an order.
std::optional<Strides> strides_of(std::string_view axes, const TensorShape& shape);

/// One name for three tensors, as Transformer Engine writes NVTE_QKV_Layout: "bshd", "bs3hd" (one group: all of Q, K,
/// V), "bshd_bs2hd" (Q; K and V), "bshd_bhsd_bhsd" (Q; K; V). Returns the axes of Q, K, V; std::nullopt if the name is
/// malformed: wrong letters, a 3 outside a single group, a 2 outside the second of two.
std::optional<std::array<std::string, 3>> split_layout_name(std::string_view name);

/// `axes` without its digit: the layout of an output beside packed inputs.
std::string without_interleave(std::string_view axes);

/// Names worth offering in messages and schemas (others are accepted: see split_layout_name).
std::vector<std::string> common_layout_names();

}  // namespace attnprobe::attention
