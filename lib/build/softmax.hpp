// Softmax from primitive operations, for the composite and the legacy pattern.
#pragma once

#include "build/attention_tensors.hpp"

namespace attnprobe::build {

struct SoftmaxParts {
  graph::Uid row_max, row_sum;  ///< {b, h, s_q, 1}, f32
  graph::Uid exponentials;      ///< exp(score - row_max); P is this divided by row_sum
};

/// Writes max, sub, exp and sum of the scores' rows to the caller's tensors. cuDNN recognises exactly this chain. The
/// caller divides, because the type of the quotient distinguishes the patterns. A sink {1, h, 1, 1} counts as one more
/// score per row in maximum and sum.
SoftmaxParts add_softmax(GraphBuilder& g, graph::Uid score, graph::Uid row_max, graph::Uid row_sum,
                         std::optional<graph::Uid> sink = {});

}  // namespace attnprobe::build
