// The legacy small-sequence pattern of the backend documentation ("Fused Attention fprop"): O = g4(Q g3(K)ᵀ) V. Here g4
// is any ordered subset of bias, padding and causal mask, softmax, dropout.
#include "build/build.hpp"
#include "build/flash_parts.hpp"
#include "build/mha_parts.hpp"
#include "build/softmax.hpp"

namespace attnprobe::build {

using attention::AttentionSpec;
using attention::DropoutForm;

namespace {

// P, in the io type and F16x16 order; the S output in training.
graph::Uid softmax(GraphBuilder& g, const AttentionSpec& spec, graph::Uid score) {
  const Dims rows = row_dims(spec);
  const SoftmaxParts parts = add_softmax(g, score, g.virtual_tensor(Role::row_max, DataType::f32, rows),
                                         g.virtual_tensor(Role::row_sum, DataType::f32, rows));
  const bool stored = spec.pass == attention::Pass::fprop_train && !spec.dropout;
  const graph::Uid p =
      add_legacy_scores(g, spec, Role::probabilities, spec.dropout ? DataType::f32 : spec.dtype, !stored);
  return g.pointwise(graph::PointwiseMode::DIV, parts.exponentials, parts.row_sum, {.into = p});
}

// S is stored between mask and scale: its sign bit marks dropped elements for the backward pass.
graph::Uid dropout(GraphBuilder& g, const AttentionSpec& spec, graph::Uid p) {
  const DropoutTensors tensors = add_dropout(g, spec, false);
  const graph::Uid s = add_legacy_scores(g, spec, Role::stored_scores, spec.dtype, false);
  g.pointwise(graph::PointwiseMode::MUL, p, tensors.mask, {.into = s});
  // By value in the io type, like the scale of K and unlike flash attention's, because cuDNN would treat a tensor as a
  // mask.
  graph::Tensor& scale = g.at(tensors.scale);
  scale.data_type = spec.dtype;
  scale.by_value = true;
  scale.value = 1.0 / (1.0 - spec.dropout->probability);
  return g.pointwise(graph::PointwiseMode::MUL, s, tensors.scale,
                     {.into = g.virtual_tensor("", spec.dtype, score_dims(spec))});
}

}  // namespace

bool has_legacy_mask(const attention::Mask& mask) {
  return mask.padding || mask.window_right;
}

graph::Uid add_legacy_mask(GraphBuilder& g, const attention::Mask& mask, graph::Uid score,
                           const SequenceLengths& lengths, double fill_value, std::optional<graph::Uid> into) {
  const graph::Uid row = g.index(score, 2, DataType::f32, DataType::f32);
  const graph::Uid column = g.index(score, 3, DataType::f32, DataType::f32);
  std::optional<graph::Uid> visible;
  auto also = [&](graph::Uid condition) {
    visible = visible ? g.compare(graph::PointwiseMode::LOGICAL_AND, *visible, condition) : condition;
  };
  if (mask.padding) {
    also(g.compare(graph::PointwiseMode::CMP_LT, row, *lengths.q, DataType::f32));
    also(g.compare(graph::PointwiseMode::CMP_LT, column, *lengths.kv, DataType::f32));
  }
  if (mask.window_right) also(g.compare(graph::PointwiseMode::CMP_GE, row, column, DataType::f32));
  const graph::Uid fill = g.scalar("fill", DataType::f32, fill_value);
  return g.pointwise(graph::PointwiseMode::BINARY_SELECT, score, fill, {.into = into, .mask = visible});
}

graph::Uid add_legacy_scores(GraphBuilder& g, const AttentionSpec& spec, const Called& called, DataType type,
                             bool is_virtual) {
  const Dims dims = score_dims(spec);
  const graph::Uid uid = g.tensor(called, type, dims, packed_strides(dims));
  g.at(uid).is_virtual = is_virtual;
  g.at(uid).reordering = graph::Reordering::F16x16;
  return uid;
}

graph::OpGraph build_mha(const AttentionSpec& spec) {
  GraphBuilder g;
  const SequenceLengths lengths = add_sequence_lengths(g, spec);
  const graph::Uid q = add_q(g, spec, {}), k = transposed(g, add_k(g, spec, {}));
  // g3: the scale applies to K, in the io type, because cuDNN would treat a scale after the matmul as dropout.
  graph::Uid scaled_k = k;
  if (spec.scale_form != attention::ScaleForm::none) {
    const graph::Uid scale = spec.scale_form == attention::ScaleForm::tensor
                                 ? g.one_element(Role::scale, spec.dtype)
                                 : g.scalar(Role::scale, spec.dtype, scale_of(spec));
    const Dims dims = g.at(k).dims, strides = g.at(k).strides;
    scaled_k = g.pointwise(graph::PointwiseMode::MUL, k, scale,
                           {.into = g.virtual_tensor("scaled K^T", spec.dtype, dims, strides)});
  }
  // Without softmax and dropout, the last operation before V must be in the io type.
  const bool masked = has_legacy_mask(spec.mask);
  const bool io_score = !spec.softmax && !spec.dropout;
  auto score_tensor = [&](const Called& called, bool last) {
    return last && io_score ? add_legacy_scores(g, spec, called, spec.dtype, true)
                            : g.virtual_tensor(called, DataType::f32, score_dims(spec));
  };
  graph::Uid score = score_tensor(Role::scores, !spec.bias && !masked);
  g.matmul(q, scaled_k, score, lengths.q, lengths.kv);
  if (spec.bias)
    score = g.pointwise(graph::PointwiseMode::ADD, score, add_bias_tensor(g, spec, Role::bias),
                        {.into = score_tensor("biased", !masked)});
  if (masked) score = add_legacy_mask(g, spec.mask, score, lengths, legacy_mask_fill, score_tensor("masked", true));
  if (spec.softmax) score = softmax(g, spec, score);
  if (spec.dropout) score = dropout(g, spec, score);
  const graph::Uid v = add_v(g, spec, {}), o = add_o(g, spec, {});
  g.matmul(score, v, o, lengths.q, {}, lengths.kv);
  return g.take();
}

}  // namespace attnprobe::build
