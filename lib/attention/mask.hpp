// Which scores count: a band around the diagonal, padding, and named masks.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/enum_names.hpp"

namespace attnprobe::attention {

enum class Alignment { top_left, bottom_right };
ATTNPROBE_ENUM(Alignment, top_left, bottom_right)

/// A query at row r sees the keys c with `diagonal(r) - window_left <= c <= diagonal(r) + window_right`.
/// flash-attention and Transformer Engine count windows the same way. Causal is window_right = 0, and a sliding window
/// of W tokens is window_left = W - 1.
struct Mask {
  std::optional<int64_t> window_left = {}, window_right = {};
  Alignment alignment = Alignment::top_left;  ///< diagonal(r) = r, or r + seqlen_kv - seqlen_q
  bool padding = false;                       ///< run-time sequence lengths, one per batch entry
  /// bprop: padded scores are masked after the statistics are subtracted, not before. JAX 0.11 (measured on the H200)
  /// and cudnn-frontend from 1.26 mask after; older cudnn-frontend masks before.
  bool padding_after_stats = false;
  /// The sequence lengths; empty: not given. Needed only to run plans.
  std::vector<int64_t> seqlens_q = {}, seqlens_kv = {};

  bool has_diagonal() const { return window_left || window_right; }
  bool operator==(const Mask&) const = default;
};

/// The named masks. To add a name, add one row.
const std::vector<std::pair<std::string, Mask>>& named_masks();

/// A mask by its name in configs, if it has one ("causal", "padding_causal", …).
std::optional<std::string> mask_name(const Mask& mask);

/// A short description: "padding causal left 3 bottom_right".
std::string describe(const Mask& mask);

}  // namespace attnprobe::attention
