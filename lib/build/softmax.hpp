// Softmax from primitive operations, for the composite and the legacy pattern.
#pragma once

#include "build/attention_tensors.hpp"

namespace attnprobe::build {

struct SoftmaxParts {
  graph::Uid row_max, row_sum;  ///< {b, h, s_q, 1}, f32
  graph::Uid exponentials;      ///< exp(score - row_max); P is this divided by row_sum
};

/// The tensor for the scores' maximum before the sink. cudnn-frontend 1.32 gives it the dimensions of the scores (its
/// reduction node infers them, node/reduction.h), and cuDNN still reduces. With {b, h, s_q, 1} there, plans of 9.13.1 to
/// 9.20.0 for one key ended in a misaligned address (H200).
enum class SinkMaximum { rows, of_frontend };

/// Writes max, sub, exp and sum of the scores' rows to the caller's tensors. cuDNN recognises exactly this chain. The
/// caller divides, because the type of the quotient distinguishes the patterns. A sink {1, h, 1, 1} counts as one more
/// score per row in maximum and sum.
SoftmaxParts add_softmax(GraphBuilder& g, graph::Uid score, graph::Uid row_max, graph::Uid row_sum,
                         std::optional<graph::Uid> sink = {}, SinkMaximum form = SinkMaximum::rows);

}  // namespace attnprobe::build
