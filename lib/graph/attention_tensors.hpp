// The tensors that every attention graph has, shaped as cuDNN wants them.
#pragma once

#include "attnprobe/attention/spec.hpp"
#include "attnprobe/graph/graph_builder.hpp"

namespace attnprobe::graph {

/// Sequence lengths of a padded batch: INT32 {batch, 1, 1, 1} in device memory.
struct SequenceLengths {
  std::optional<Uid> q, kv;
};

Uid add_q(GraphBuilder& g, const attention::AttentionSpec& spec);
/// {b, h, s_kv, d}.
Uid add_k(GraphBuilder& g, const attention::AttentionSpec& spec);
/// Kᵀ: the same memory as {b, h, d, s_kv}. No graph has a transpose operation; the swapped strides are it.
Uid add_k_transposed(GraphBuilder& g, const attention::AttentionSpec& spec);
Uid add_v(GraphBuilder& g, const attention::AttentionSpec& spec);
Uid add_o(GraphBuilder& g, const attention::AttentionSpec& spec);
/// Only where the mask pads; else both are unset.
SequenceLengths add_sequence_lengths(GraphBuilder& g, const attention::AttentionSpec& spec);

/// {b, h_q, s_q, s_kv}.
Dims score_dims(const attention::AttentionSpec& spec);
/// {b, h_q, s_q, 1}.
Dims row_dims(const attention::AttentionSpec& spec);

}  // namespace attnprobe::graph
