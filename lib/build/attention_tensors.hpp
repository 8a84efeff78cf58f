// The tensors that attention graphs share, in the shapes that cuDNN expects.
#pragma once

#include "attention/spec.hpp"
#include "build/graph_builder.hpp"

namespace attnprobe::build {

/// Sequence lengths of a padded batch: INT32 {batch, 1, 1, 1} in device memory.
struct SequenceLengths {
  std::optional<graph::Uid> q, kv;
  std::optional<graph::Uid> cu_q, cu_kv;  ///< as prefix sums {batch + 1, 1, 1, 1} instead
};

/// The start of each sequence of a ragged tensor, in elements: {batch + 1, 1, 1, 1} in device memory.
struct RaggedOffsets {
  std::optional<graph::Uid> q, k, v, o, stats;
};

/// Set only if the mask pads or a paged cache needs them.
SequenceLengths add_sequence_lengths(GraphBuilder& g, const attention::AttentionSpec& spec);
/// One per ragged tensor.
RaggedOffsets add_ragged_offsets(GraphBuilder& g, const attention::AttentionSpec& spec);

Dims as_dims(const attention::Strides& strides);

/// Sets the ragged offset of a tensor, if there is one.
graph::Uid with_offset(GraphBuilder& g, graph::Uid tensor, std::optional<graph::Uid> offset);
/// Offsets for a tensor with strides `like`. A tensor with a different token spacing gets its own offsets of `role`,
/// because offsets count elements.
graph::Uid with_offset_like(GraphBuilder& g, const attention::AttentionSpec& spec, graph::Uid tensor, graph::Role role,
                            std::optional<graph::Uid> offset, const attention::Strides& like);

graph::Uid add_q(GraphBuilder& g, const attention::AttentionSpec& spec, const RaggedOffsets& offsets);
/// {b, h, s_kv, d}.
graph::Uid add_k(GraphBuilder& g, const attention::AttentionSpec& spec, const RaggedOffsets& offsets);
graph::Uid add_v(GraphBuilder& g, const attention::AttentionSpec& spec, const RaggedOffsets& offsets);
graph::Uid add_o(GraphBuilder& g, const attention::AttentionSpec& spec, const RaggedOffsets& offsets);

/// Q or K {b, h, s, d} rotated by a tensor of angles. Precondition: the spec has a rope.
graph::Uid add_rope(GraphBuilder& g, const attention::AttentionSpec& spec, graph::Uid x, Role angles);

/// Kᵀ, Vᵀ: the same memory as {b, h, d, s_kv}. Graphs have no transpose operation; swapped dims and strides express it.
graph::Uid transposed(GraphBuilder& g, graph::Uid tensor);

/// The container of a paged K (head dimension head_dim_qk) or V: {blocks, heads, block_size, head_dim}.
graph::Uid add_container(GraphBuilder& g, const attention::AttentionSpec& spec, Role role, int64_t heads,
                         int64_t head_dim);
/// INT32 {batch, 1, ceil(s_kv / block_size), 1}.
graph::Uid add_page_table(GraphBuilder& g, const attention::AttentionSpec& spec, Role role);

/// A row-wise f32 tensor in memory ("Stats", "Max", …), ragged if the statistics are.
graph::Uid add_row_tensor(GraphBuilder& g, const attention::AttentionSpec& spec, Role role,
                          const RaggedOffsets& offsets);

/// An f32 tensor {1, h_q, 1, 1}: sink, its gradient, ALiBi slopes.
graph::Uid add_head_tensor(GraphBuilder& g, const attention::AttentionSpec& spec, Role role);

/// The scale of the scores, if the spec has one.
std::optional<graph::Uid> add_scale(GraphBuilder& g, const attention::AttentionSpec& spec);

/// The bias, or its gradient.
graph::Uid add_bias_tensor(GraphBuilder& g, const attention::AttentionSpec& spec, Role role);

/// {b, h_q, s_q, s_kv}.
Dims score_dims(const attention::AttentionSpec& spec);
/// {b, h_q, s_q, 1}.
Dims row_dims(const attention::AttentionSpec& spec);
/// {b, h_q, s_q, d_v}.
Dims output_dims(const attention::AttentionSpec& spec);

}  // namespace attnprobe::build
