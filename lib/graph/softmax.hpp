// Pieces that the composite and the legacy pattern share.
#pragma once

#include "attnprobe/graph/attention_tensors.hpp"

namespace attnprobe::graph {

struct Softmax {
  Uid row_max, row_sum;  ///< {b, h, s_q, 1}, f32
  Uid exponentials;      ///< exp(score - row_max); P is this divided by row_sum
};

/// max, sub, exp, sum of the score's rows. cuDNN recognises exactly this chain; the division is the caller's,
/// since the type of its output tells the patterns apart.
inline Softmax add_softmax(GraphBuilder& g, Uid score, const Dims& rows) {
  Softmax softmax{};
  softmax.row_max = g.reduce(ReductionOperator::MAX, score, g.virtual_tensor("row_max", DataType::f32, rows));
  const Uid shifted = g.pointwise(PointwiseMode::SUB, score, softmax.row_max);
  softmax.exponentials = g.pointwise(PointwiseMode::EXP, shifted);
  softmax.row_sum = g.reduce(ReductionOperator::ADD, softmax.exponentials,
                             g.virtual_tensor("row_sum", DataType::f32, rows));
  return softmax;
}

}  // namespace attnprobe::graph
