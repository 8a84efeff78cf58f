#include "attnprobe/graph/softmax.hpp"

namespace attnprobe::graph {

SoftmaxParts add_softmax(GraphBuilder& g, Uid score, Uid row_max, Uid row_sum, std::optional<Uid> sink) {
  const Dims rows = g.at(row_max).dims;
  if (sink) {
    const Uid largest = g.reduce(ReductionOperator::MAX, score, rows);
    g.pointwise(PointwiseMode::MAX, largest, sink, {.into = row_max});
  } else {
    g.reduce(ReductionOperator::MAX, score, row_max);
  }
  const Uid exponentials = g.pointwise(PointwiseMode::EXP, g.pointwise(PointwiseMode::SUB, score, row_max));
  if (sink) {
    const Uid shifted =
        g.pointwise(PointwiseMode::SUB, *sink, row_max, {.into = g.virtual_tensor("", DataType::f32, rows)});
    const Uid of_sink = g.pointwise(PointwiseMode::EXP, shifted);
    const Uid of_scores = g.reduce(ReductionOperator::ADD, exponentials, rows);
    g.pointwise(PointwiseMode::ADD, of_scores, of_sink, {.into = row_sum});
  } else {
    g.reduce(ReductionOperator::ADD, exponentials, row_sum);
  }
  return {row_max, row_sum, exponentials};
}

}  // namespace attnprobe::graph
