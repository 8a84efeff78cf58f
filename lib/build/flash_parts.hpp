// Pieces that forward and backward graphs share: dropout, the fp8 and MXFP8 scalings, gradients.
#pragma once

#include "build/attention_tensors.hpp"

namespace attnprobe::build {

/// The mask that dropout multiplies onto P, and the scales before and behind it.
struct DropoutTensors {
  graph::Uid mask = 0;       ///< {b, h_q, s_q, s_kv}: drawn here, or the caller's
  graph::Uid scale = 0;      ///< 1 / (1 - p)
  graph::Uid scale_inv = 0;  ///< 1 - p, which only the backward pass uses; 0 else
};
/// Adds the RNG operation where the mask is drawn. Precondition: the spec has dropout.
DropoutTensors add_dropout(GraphBuilder& g, const attention::AttentionSpec& spec, bool backward);

/// Where the random numbers of dropout start, one element each: i64 if the spec asks for it, else i32.
struct SeedTensors {
  graph::Uid seed = 0, offset = 0;
};
SeedTensors add_seed(GraphBuilder& g, const attention::AttentionSpec& spec);

/// x times a one-element tensor.
graph::Uid multiply(GraphBuilder& g, graph::Uid x, graph::Uid factor);

/// The largest absolute value of x into an output of that role.
void add_amax(GraphBuilder& g, graph::Uid x, Role role);

/// The factor by which fp8 results are scaled before they are stored: a tensor, or the value 1 for current scaling,
/// where the result is 16-bit (Transformer Engine's use of cudnn-frontend).
graph::Uid add_output_scale(GraphBuilder& g, const attention::AttentionSpec& spec, Role role);

/// Which axis of a tensor {b, h, s, d} the blocks of MXFP8 run along. seqlen_spread: as seqlen, with the strides that
/// cudnn-frontend gives the scales of K and Q in the backward pass, columns outermost.
enum class BlockAxis { head_dim, seqlen, seqlen_spread };
/// x dequantised with block scales of its own: E8M0, one for 32 elements, padded and reordered in tiles of 128x4. For a
/// transposed x the scales are transposed too.
graph::Uid dequantize(GraphBuilder& g, graph::Uid x, Role scale, BlockAxis axis, bool transposed = false);
/// Those block scales alone, which the unified operation takes as they are.
graph::Uid add_block_scales(GraphBuilder& g, graph::Uid x, Role scale, BlockAxis axis, bool transposed = false);

/// C = A B of the backward pass, where A may have more heads than C: those are then summed into it.
struct HeadSum {
  DataType full_type;           ///< of the product with all heads
  bool full_in_memory = false;  ///< not virtual: ragged with a known number of tokens
};
graph::Uid matmul_over_heads(GraphBuilder& g, graph::Uid a, graph::Uid b, graph::Uid c, std::optional<graph::Uid> m,
                             std::optional<graph::Uid> k, const HeadSum& sum);

/// dO, with O's shape, and its ragged offsets where a token is as far from the next.
graph::Uid add_output_gradient(GraphBuilder& g, const attention::AttentionSpec& spec, Role role, DataType type,
                               std::optional<graph::Uid> offset);

/// dQ, dK or dV.
graph::Uid add_gradient(GraphBuilder& g, const attention::AttentionSpec& spec, Role role, const RaggedOffsets& offsets);

/// The scores' transpose {b, h_q, s_kv, s_q}, virtual: a reshape is it.
graph::Uid transpose_scores(GraphBuilder& g, const attention::AttentionSpec& spec, graph::Uid scores, DataType type);

/// dSink from the statistics and the row sums of dO O. cuDNN applies the minus sign itself.
void add_sink_gradient(GraphBuilder& g, const attention::AttentionSpec& spec, graph::Uid stats, graph::Uid sums);

}  // namespace attnprobe::build
