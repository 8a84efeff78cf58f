// Softmax from primitive operations, which the composite and the legacy pattern share.
#pragma once

#include "base/version.hpp"
#include "build/attention_tensors.hpp"

namespace attnprobe::build {

/// From this cuDNN on cudnn-frontend states the softmax and each bound of a mask as one operation (node/softmax.h,
/// node/diagonal_band_mask.h of 1.23).
inline constexpr CudnnVersion first_with_single_operations{9, 21, 0};

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
