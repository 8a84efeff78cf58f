#include "attnprobe/graph/build.hpp"
#include "attnprobe/graph/softmax.hpp"

namespace attnprobe::graph {
namespace {

// What the mask writes into hidden scores; the legacy pattern wants a finite value.
constexpr double masked_score = -1e30;

// One select for padding and causal together: indices in FLOAT, unlike flash attention's.
Uid add_mask(GraphBuilder& g, const attention::Mask& mask, Uid score, const SequenceLengths& lengths) {
  const Uid row = g.index(score, 2, DataType::f32, DataType::f32);
  const Uid column = g.index(score, 3, DataType::f32, DataType::f32);
  std::optional<Uid> visible;
  auto also = [&](Uid condition) {
    visible = visible ? g.compare(PointwiseMode::LOGICAL_AND, *visible, condition) : condition;
  };
  if (lengths.q) {
    also(g.compare(PointwiseMode::CMP_LT, row, *lengths.q, DataType::f32));
    also(g.compare(PointwiseMode::CMP_LT, column, *lengths.kv, DataType::f32));
  }
  if (mask.window_right) also(g.compare(PointwiseMode::CMP_GE, row, column, DataType::f32));
  return g.select(score, g.scalar("hidden", DataType::f32, masked_score), *visible);
}

}  // namespace

OpGraph build_mha(const attention::AttentionSpec& spec) {
  GraphBuilder g;
  const SequenceLengths lengths = add_sequence_lengths(g, spec);
  const Uid q = add_q(g, spec), k = add_k_transposed(g, spec), v = add_v(g, spec), o = add_o(g, spec);
  // g3: here the scale belongs to K, in the io type; after the matmul cuDNN would take it for dropout.
  const Dims k_dims = g.at(k).dims, k_strides = g.at(k).strides;
  const Uid scaled_k = g.pointwise(PointwiseMode::MUL, k, g.scalar("scale", spec.dtype, scale_of(spec)),
                                   {.into = g.virtual_tensor("scaled K^T", spec.dtype, k_dims, k_strides)});
  Uid score = g.virtual_tensor("S", DataType::f32, score_dims(spec));
  g.matmul(q, scaled_k, score, lengths.q, lengths.kv);
  if (spec.mask.padding || spec.mask.has_diagonal()) score = add_mask(g, spec.mask, score, lengths);
  const Softmax softmax = add_softmax(g, score, row_dims(spec));
  const Uid p = g.virtual_tensor("P", spec.dtype, score_dims(spec));
  g.at(p).reordering = Reordering::F16x16;
  g.pointwise(PointwiseMode::DIV, softmax.exponentials, softmax.row_sum, {.into = p});
  g.matmul(p, v, o, lengths.q, {}, lengths.kv);
  return g.take();
}

}  // namespace attnprobe::graph
