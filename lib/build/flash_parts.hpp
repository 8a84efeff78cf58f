// Parts that forward and backward graphs share: dropout, the fp8 and MXFP8 scalings, gradients.
#pragma once

#include "build/attention_tensors.hpp"

namespace attnprobe::build {

/// The mask by which dropout multiplies P, and the scales before and after it.
struct DropoutTensors {
  graph::Uid mask = 0;       ///< {b, h_q, s_q, s_kv}: drawn in the graph, or supplied by the caller
  graph::Uid scale = 0;      ///< 1 / (1 - p)
  graph::Uid scale_inv = 0;  ///< 1 - p, used only by the backward pass; else 0
};
/// Adds the RNG operation if the mask is drawn. Precondition: the spec has dropout.
DropoutTensors add_dropout(GraphBuilder& g, const attention::AttentionSpec& spec, bool backward);

/// Seed and offset of dropout, one element each: i64 if the spec sets it, otherwise i32.
struct SeedTensors {
  graph::Uid seed = 0, offset = 0;
};
SeedTensors add_seed(GraphBuilder& g, const attention::AttentionSpec& spec);

/// x times a one-element tensor.
graph::Uid multiply(GraphBuilder& g, graph::Uid x, graph::Uid factor);

/// The largest absolute value of x, as an output of that role.
void add_amax(GraphBuilder& g, graph::Uid x, Role role);

/// The scale of an fp8 result before it is stored: a tensor. For current scaling, with a 16-bit result, it is the value
/// 1, as in Transformer Engine's use of cudnn-frontend.
graph::Uid add_output_scale(GraphBuilder& g, const attention::AttentionSpec& spec, Role role);

/// The axis of a tensor {b, h, s, d} along which MXFP8's blocks run. The value seqlen_spread is seqlen with
/// cudnn-frontend's strides for the scales of K and Q in the backward pass, columns outermost.
enum class BlockAxis { head_dim, seqlen, seqlen_spread };
/// x dequantised with its block scales: E8M0, one per 32 elements, padded and reordered in tiles of 128x4. The scales
/// of a transposed x are transposed too.
graph::Uid dequantize(GraphBuilder& g, graph::Uid x, Role scale, BlockAxis axis, bool transposed = false);
/// Only the block scales; the unified operation uses them directly.
graph::Uid add_block_scales(GraphBuilder& g, graph::Uid x, Role scale, BlockAxis axis, bool transposed = false);

/// C = A B in the backward pass. If A has more heads than C, groups of heads are summed into C.
struct HeadSum {
  DataType full_type;           ///< of the product with all heads
  bool full_in_memory = false;  ///< set if not virtual: ragged with a known number of tokens
};
graph::Uid matmul_over_heads(GraphBuilder& g, graph::Uid a, graph::Uid b, graph::Uid c, std::optional<graph::Uid> m,
                             std::optional<graph::Uid> k, const HeadSum& sum);

/// dO with O's shape, and O's ragged offsets if the token spacing is the same.
graph::Uid add_output_gradient(GraphBuilder& g, const attention::AttentionSpec& spec, Role role, DataType type,
                               std::optional<graph::Uid> offset);

/// dQ, dK or dV.
graph::Uid add_gradient(GraphBuilder& g, const attention::AttentionSpec& spec, Role role, const RaggedOffsets& offsets);

/// The virtual transpose {b, h_q, s_kv, s_q} of the scores, made by a reshape.
graph::Uid transpose_scores(GraphBuilder& g, const attention::AttentionSpec& spec, graph::Uid scores, DataType type);

/// dSink from the statistics and the row sums of dO O. cuDNN adds the minus sign itself.
void add_sink_gradient(GraphBuilder& g, const attention::AttentionSpec& spec, graph::Uid stats, graph::Uid sums);

}  // namespace attnprobe::build
