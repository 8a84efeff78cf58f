#include "attention/flop.hpp"

#include <algorithm>

namespace attnprobe::attention {
namespace {

// The pairs of one head in one batch entry.
int64_t count_pairs(const AttentionSpec& spec, int64_t queries, int64_t keys) {
  const auto& mask = spec.mask;
  const bool causal_modifier = spec.score_mod && spec.score_mod->kind == ScoreModifierKind::causal;
  if (!mask.has_diagonal() && !causal_modifier) return queries * keys;
  const int64_t shift = mask.alignment == Alignment::bottom_right ? keys - queries : 0;
  int64_t pairs = 0;
  for (int64_t row = 0; row < queries; ++row) {
    int64_t first = 0, last = keys - 1;
    if (mask.window_left) first = std::max(first, row + shift - *mask.window_left);
    if (mask.window_right) last = std::min(last, row + shift + *mask.window_right);
    if (causal_modifier) last = std::min(last, row);  // compares plain indices, so the alignment is always top-left
    pairs += std::max<int64_t>(0, last - first + 1);
  }
  return pairs;
}

// The length of one batch entry.
int64_t length_of(std::span<const int64_t> at_run_time, const std::vector<int64_t>& of_spec, int64_t full,
                  size_t entry) {
  if (!at_run_time.empty()) return at_run_time[entry];
  return of_spec.empty() ? full : of_spec[entry];
}

}  // namespace

double unmasked_pairs(const AttentionSpec& spec, std::span<const int64_t> seqlens_q,
                      std::span<const int64_t> seqlens_kv) {
  double pairs = 0;
  for (size_t entry = 0; entry < static_cast<size_t>(spec.batch); ++entry)
    pairs += static_cast<double>(count_pairs(spec, length_of(seqlens_q, spec.mask.seqlens_q, spec.seqlen_q, entry),
                                             length_of(seqlens_kv, spec.mask.seqlens_kv, spec.seqlen_kv, entry)));
  return pairs;
}

double attention_flop(const AttentionSpec& spec, std::span<const int64_t> seqlens_q,
                      std::span<const int64_t> seqlens_kv) {
  const int64_t per_pair =
      is_bprop(spec) ? 3 * spec.head_dim_qk + 2 * spec.head_dim_v : spec.head_dim_qk + spec.head_dim_v;
  return static_cast<double>(spec.heads_q * 2 * per_pair) * unmasked_pairs(spec, seqlens_q, seqlens_kv);
}

}  // namespace attnprobe::attention
