#include "build/softmax.hpp"

namespace attnprobe::build {
namespace {

// The heads lie next to each other, then the keys, the queries, the batch.
graph::Uid add_scores_of_frontend(GraphBuilder& g, graph::Uid score) {
  const Dims dims = g.at(score).dims;
  return g.virtual_tensor("", DataType::f32, dims, {dims[1] * dims[3] * dims[2], 1, dims[1] * dims[3], dims[1]});
}

}  // namespace

SoftmaxParts add_softmax(GraphBuilder& g, graph::Uid score, graph::Uid row_max, graph::Uid row_sum,
                         std::optional<graph::Uid> sink, SinkMaximum form) {
  const Dims rows = g.at(row_max).dims;
  if (sink) {
    const graph::Uid largest =
        form == SinkMaximum::of_frontend ? add_scores_of_frontend(g, score) : g.virtual_tensor("", DataType::f32, rows);
    g.reduce(graph::ReductionOperator::MAX, score, largest);
    g.pointwise(graph::PointwiseMode::MAX, largest, sink, {.into = row_max});
  } else {
    g.reduce(graph::ReductionOperator::MAX, score, row_max);
  }
  const graph::Uid exponentials =
      g.pointwise(graph::PointwiseMode::EXP, g.pointwise(graph::PointwiseMode::SUB, score, row_max));
  if (sink) {
    const graph::Uid shifted =
        g.pointwise(graph::PointwiseMode::SUB, *sink, row_max, {.into = g.virtual_tensor("", DataType::f32, rows)});
    const graph::Uid of_sink = g.pointwise(graph::PointwiseMode::EXP, shifted);
    const graph::Uid of_scores = g.reduce(graph::ReductionOperator::ADD, exponentials, rows);
    g.pointwise(graph::PointwiseMode::ADD, of_scores, of_sink, {.into = row_sum});
  } else {
    g.reduce(graph::ReductionOperator::ADD, exponentials, row_sum);
  }
  return {row_max, row_sum, exponentials};
}

}  // namespace attnprobe::build
