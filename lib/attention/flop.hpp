// The amount of computation of an attention problem.
#pragma once

#include <span>

#include "attention/spec.hpp"

namespace attnprobe::attention {

/// The (query, key) pairs of one head that the mask keeps, summed over the batch. The count is exact for causal masks
/// and windows of either alignment and for sequence lengths. A causal score modifier counts as a mask. Block masks,
/// mask tensors and the score modifiers arrow and document depend on data; pairs that only they remove are counted.
///
/// `seqlens_q` and `seqlens_kv`: run-time lengths, one per batch entry. If empty, they come from the spec's mask,
/// otherwise they are the full lengths. As in the graphs, a bottom-right diagonal ends at the entry's own last query
/// and key.
double unmasked_pairs(const AttentionSpec& spec, std::span<const int64_t> seqlens_q = {},
                      std::span<const int64_t> seqlens_kv = {});

/// Floating point operations of the matmuls, with two per multiply-add: heads_q · pairs · 2 · k. Forward, k is d_qk +
/// d_v. Backward, k is `3 d_qk + 2 d_v`, for five matmuls: S = Q Kᵀ (recomputed), dP, dV, dQ, dK. cudnn-frontend's
/// benchmark counts the same way (benchmark/sdpa_benchmark_training). Not counted: softmax, masks, bias, dropout,
/// scaling, masked blocks that a kernel computes, and recomputation. Pattern::mha reads S backward, one matmul less,
/// but counts the same.
double attention_flop(const AttentionSpec& spec, std::span<const int64_t> seqlens_q = {},
                      std::span<const int64_t> seqlens_kv = {});

}  // namespace attnprobe::attention
