// Softmax from primitive operations, which the composite and the legacy pattern share.
#pragma once

#include "attnprobe/graph/attention_tensors.hpp"

namespace attnprobe::graph {

/// From this cuDNN on cudnn-frontend states the softmax and each bound of a mask as one operation
/// (node/softmax.h, node/diagonal_band_mask.h of 1.23).
inline constexpr int64_t first_with_single_operations = 92100;

struct SoftmaxParts {
  Uid row_max, row_sum;  ///< {b, h, s_q, 1}, f32
  Uid exponentials;      ///< exp(score - row_max); P is this divided by row_sum
};

/// max, sub, exp, sum of the score's rows, into tensors of the caller's. cuDNN recognises exactly this chain;
/// the division is the caller's, since the type of its output tells the patterns apart. A sink {1, h, 1, 1}
/// joins maximum and sum as one more score of each row.
SoftmaxParts add_softmax(GraphBuilder& g, Uid score, Uid row_max, Uid row_sum, std::optional<Uid> sink = {});

}  // namespace attnprobe::graph
