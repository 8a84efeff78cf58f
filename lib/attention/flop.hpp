// How much an attention problem computes.
#pragma once

#include <span>

#include "attention/spec.hpp"

namespace attnprobe::attention {

/// (query, key) pairs of one head that the mask lets through, summed over the batch. Counted exactly
/// for causal masks and windows of either alignment and for sequence lengths; a causal score
/// modifier counts as the mask that it is. Not looked at, for it depends on data: block masks, mask
/// tensors and the score modifiers arrow and document, under which every other pair counts.
///
/// `seqlens_q` and `seqlens_kv`: lengths at run time, one for each batch entry; empty: those of the spec's mask, or
/// else the full ones. As in the graphs, the bottom-right diagonal of an entry ends in its own last query and key.
double unmasked_pairs(const AttentionSpec& spec, std::span<const int64_t> seqlens_q = {},
                      std::span<const int64_t> seqlens_kv = {});

/// Floating point operations of the matmuls, an addition and a multiplication being two: heads_q · pairs · 2 · k with k
/// = d_qk + d_v forward, 3 d_qk + 2 d_v backward (five matmuls: S = Q Kᵀ over again, dP, dV, dQ, dK). That is how
/// cudnn-frontend's benchmark counts (benchmark/sdpa_benchmark_training). Not counted: softmax, masks, bias, dropout,
/// scaling; blocks that a kernel computes although they are masked; what it computes twice. Pattern::mha reads S
/// backward and has one matmul less, but counts the same.
double attention_flop(const AttentionSpec& spec, std::span<const int64_t> seqlens_q = {},
                      std::span<const int64_t> seqlens_kv = {});

}  // namespace attnprobe::attention
