// Memory layouts of Q, K, V and O: names such as "bshd" or "bshd_bs2hd", or explicit strides.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnprobe::attention {

/// The largest extent in a config, because cuDNN's kernels count in 32 bits.
constexpr int64_t max_extent = std::numeric_limits<int32_t>::max();

/// Extents of one of Q, K, V, O in logical order.
struct TensorShape {
  int64_t batch = 0, heads = 0, seqlen = 0, head_dim = 0;
};

/// Strides in elements, in the logical order {batch, heads, seqlen, head_dim} of every cuDNN attention tensor. K uses
/// the same order: builders transpose K, configs do not.
using Strides = std::array<int64_t, 4>;

/// Strides of a tensor stored in the order of `axes`, outermost first. `axes` is a permutation of "bshd". A digit marks
/// interleaved tensors: in "bs3hd", Q, K and V of a token are adjacent, like Transformer Engine's NVTE_BS3HD. "t"
/// replaces "b" and "s" for a ragged tensor, which stores its sequences back to back. Its strides are those of a padded
/// batch ("thd" as "bshd"); ragged offsets replace the batch stride at run time. Returns std::nullopt for any other
/// `axes`.
std::optional<Strides> strides_of(std::string_view axes, const TensorShape& shape);

/// Splits one name for three tensors, as in Transformer Engine's NVTE_QKV_Layout. "bshd"; "bs3hd" (one group: Q, K, V);
/// "bshd_bs2hd" (Q; K and V); "bshd_bhsd_bhsd" (Q; K; V). Returns the axes of Q, K, V. Returns std::nullopt for wrong
/// letters, for a 3 unless there is one group, and for a 2 except in the second of two groups.
std::optional<std::array<std::string, 3>> split_layout_name(std::string_view name);

/// `axes` without its digit: the layout of an output whose inputs are interleaved.
std::string without_interleave(std::string_view axes);

/// The names that messages and schemas suggest; split_layout_name accepts more names.
std::vector<std::string> common_layout_names();

}  // namespace attnprobe::attention
