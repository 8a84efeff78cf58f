// Inputs of attention that are not random: slopes, documents, angles, prefix sums, scales of fp8.
#pragma once

#include <vector>

#include "graph/op_graph.hpp"

namespace attnprobe::run {

/// By-value scalars and one-element tensors of fp8 graphs whose value the reference needs: scale_s -> 128.
double factor_of(graph::Role role, double keep_probability);

/// The scale of dP for few keys, because few keys make gradients large.
inline constexpr double scale_of_d_p_of_few = 16;

/// One per head, {1, heads, 1, 1}. Press et al. 2022: 2^(-8 (i + 1) / n) for n a power of two; for other n, also every
/// second value for the next power.
std::vector<double> alibi_slopes(int64_t heads);

/// The document of each token, from 1; each document has 48 tokens.
std::vector<int64_t> document_ids(int64_t tokens);

/// Angles of a rotary embedding, {s, 1, 1, dim}, packed. Element i of the first half and of the second is `s 10000^(-2
/// i / dim)`. Source: Su et al. 2021; both halves as in docs.nvidia.com/cudnn/operations/RoPE.md.
std::vector<double> rope_angles(int64_t tokens, int64_t dim);

/// 0, then the sum of lengths after each entry.
std::vector<int64_t> prefix_sums(const std::vector<int32_t>& lengths);

}  // namespace attnprobe::run
