// What some inputs of attention always hold: slopes, documents, angles, prefix sums, scales of fp8. Nothing random.
#pragma once

#include <vector>

#include "graph/op_graph.hpp"

namespace attnprobe::run {

/// By-value scalars and one-element tensors of fp8 graphs whose value the reference needs: scale_s -> 128.
double factor_of(graph::Role role, double keep_probability);

/// Scale of dP where there are few keys, and its gradients therefore large.
inline constexpr double scale_of_d_p_of_few = 16;

/// One a head, {1, heads, 1, 1}. Press et al. 2022: 2^(-8 (i + 1) / n) for n a power of two; in between every other one of
/// twice as many.
std::vector<double> alibi_slopes(int64_t heads);

/// The document of each token, from 1; documents have 48 tokens.
std::vector<int64_t> document_ids(int64_t tokens);

/// Of a rotary embedding, {s, 1, 1, dim}, packed: s 10000^(-2 i / dim) for element i of the first half and of the second
/// (Su et al. 2021; both halves, as docs.nvidia.com/cudnn/operations/RoPE.md wants them).
std::vector<double> rope_angles(int64_t tokens, int64_t dim);

/// 0, then the sum of the lengths so far after each.
std::vector<int64_t> prefix_sums(const std::vector<int32_t>& lengths);

}  // namespace attnprobe::run
