// Softmax from primitive operations, which the composite and the legacy pattern share.
#pragma once

#include "build/attention_tensors.hpp"

namespace attnprobe::build {

struct SoftmaxParts {
  graph::Uid row_max, row_sum;  ///< {b, h, s_q, 1}, f32
  graph::Uid exponentials;      ///< exp(score - row_max); P is this divided by row_sum
};

/// max, sub, exp, sum of the score's rows, into tensors of the caller's. cuDNN recognises exactly this chain; the
/// division is the caller's, since the type of its output tells the patterns apart. A sink {1, h, 1, 1} joins maximum
/// and sum as one more score of each row.
SoftmaxParts add_softmax(GraphBuilder& g, graph::Uid score, graph::Uid row_max, graph::Uid row_sum,
                         std::optional<graph::Uid> sink = {});

}  // namespace attnprobe::build
