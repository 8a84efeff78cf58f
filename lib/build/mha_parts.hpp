// What the legacy pattern's forward and backward graphs share.
#pragma once

#include "build/attention_tensors.hpp"

namespace attnprobe::build {

/// Masks scores by padding and causal mask, in one select with indices in FLOAT (unlike flash attention's), into a new
/// tensor or an existing one. `fill`: what takes their place. Precondition: the mask has one of the two.
graph::Uid add_legacy_mask(GraphBuilder& g, const attention::Mask& mask, graph::Uid score,
                           const SequenceLengths& lengths, double fill, std::optional<graph::Uid> into = {});

/// In place of rejected scores before the softmax (the legacy pattern wants a finite value); of gradients it is 0.
inline constexpr double legacy_mask_fill = -1e30;

bool has_legacy_mask(const attention::Mask& mask);

/// S or dS as it is stored between forward and backward, in F16x16 order. Virtual where nobody else reads it.
graph::Uid add_legacy_scores(GraphBuilder& g, const attention::AttentionSpec& spec, const Called& called, DataType type,
                             bool is_virtual);

}  // namespace attnprobe::build
