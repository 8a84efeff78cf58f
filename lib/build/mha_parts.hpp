// Parts that the forward and backward graphs of the legacy pattern share.
#pragma once

#include "build/attention_tensors.hpp"

namespace attnprobe::build {

/// Masks scores by padding and causal mask, in one select with FLOAT indices (unlike flash attention's), into a new or
/// an existing tensor. `fill` replaces masked scores. Precondition: the mask has padding or a causal bound.
graph::Uid add_legacy_mask(GraphBuilder& g, const attention::Mask& mask, graph::Uid score,
                           const SequenceLengths& lengths, double fill, std::optional<graph::Uid> into = {});

/// Replaces masked scores before the softmax: the legacy pattern requires a finite value. For gradients it is 0.
inline constexpr double legacy_mask_fill = -1e30;

bool has_legacy_mask(const attention::Mask& mask);

/// S or dS as stored between forward and backward, in F16x16 order. Virtual unless another graph reads it.
graph::Uid add_legacy_scores(GraphBuilder& g, const attention::AttentionSpec& spec, const Called& called, DataType type,
                             bool is_virtual);

}  // namespace attnprobe::build
