// The backward pass of the legacy small-sequence pattern ("Fused Attention bprop" of the backend documentation). It
// reads the S that the forward pass stored; the sign bit of S marks dropped elements.
#include "build/build.hpp"
#include "build/flash_parts.hpp"
#include "build/mha_parts.hpp"

namespace attnprobe::build {
namespace {

using attention::AttentionSpec;

class LegacyBackward {
 public:
  explicit LegacyBackward(const AttentionSpec& spec) : spec_(spec), lengths_(add_sequence_lengths(g_, spec)) {}

  graph::OpGraph build() {
    const graph::Uid q = add_q(g_, spec_, {}), k = add_k(g_, spec_, {}), v = transposed(g_, add_v(g_, spec_, {}));
    const graph::Uid d_o = add_output_gradient(g_, spec_, Role::d_o, d_output_type(spec_), {});
    s_ = add_legacy_scores(g_, spec_, Role::scores, spec_.dtype, false);
    const double keep = spec_.dropout ? 1.0 - spec_.dropout->probability : 1.0;
    dropout_scale_ = g_.scalar(Role::dropout_scale, DataType::f32, 1.0 / keep);

    const graph::Uid scaled = g_.pointwise(graph::PointwiseMode::MUL, transpose_scores(g_, spec_, s_, spec_.dtype),
                                           dropout_scale_, {.out = spec_.dtype});
    const graph::Uid p_t = g_.pointwise(graph::PointwiseMode::ABS, scaled, {}, {.out = spec_.dtype});
    const graph::Uid d_v = add_gradient(g_, spec_, Role::dv, {});
    g_.matmul(p_t, d_o, d_v, lengths_.kv, {}, lengths_.q);

    const graph::Uid d_p = g_.virtual_tensor(Role::d_probabilities, DataType::f32, score_dims(spec_));
    g_.matmul(d_o, v, d_p, lengths_.q, lengths_.kv);
    const graph::Uid d_s = score_gradient(d_p);
    const graph::Uid d_q = add_gradient(g_, spec_, Role::dq, {});
    g_.matmul(d_s, k, d_q, lengths_.q, {}, lengths_.kv);
    const graph::Uid d_k = add_gradient(g_, spec_, Role::dk, {});
    g_.matmul(transpose_scores(g_, spec_, d_s, spec_.dtype), q, d_k, lengths_.kv, {}, lengths_.q);
    return g_.take();
  }

 private:
  // The backward pass of dropout, softmax, mask and scale.
  graph::Uid score_gradient(graph::Uid d_p) {
    auto full = [&](DataType type) { return g_.virtual_tensor("", type, score_dims(spec_)); };
    const graph::Uid p = g_.pointwise(graph::PointwiseMode::ABS, s_, {}, {.into = full(spec_.dtype)});
    const graph::Uid zero = g_.scalar("zero", DataType::f32, 0.0);
    const graph::Uid kept = g_.pointwise(graph::PointwiseMode::CMP_GT, s_, zero, {.into = full(DataType::boolean)});
    graph::Uid x = g_.pointwise(graph::PointwiseMode::MUL, d_p, dropout_scale_);
    x = g_.select(x, zero, kept);
    const graph::Uid weighted = g_.pointwise(graph::PointwiseMode::MUL, p, x, {.into = full(DataType::f32)});
    const graph::Uid sums = g_.reduce(graph::ReductionOperator::ADD, weighted, row_dims(spec_));
    x = g_.pointwise(graph::PointwiseMode::SUB, x, sums);
    const bool masked = has_legacy_mask(spec_.mask);
    const auto scale = add_scale(g_, spec_);
    const graph::Uid d_s = add_legacy_scores(g_, spec_, Role::d_scores, spec_.dtype, false);
    auto last = [&](bool is_last) { return is_last ? d_s : full(DataType::f32); };
    x = g_.pointwise(graph::PointwiseMode::MUL, p, x, {.into = last(!masked && !scale)});
    if (scale) x = g_.pointwise(graph::PointwiseMode::MUL, x, *scale, {.into = last(!masked)});
    if (masked) add_legacy_mask(g_, spec_.mask, x, lengths_, 0, d_s);
    if (spec_.bias && spec_.bias->grad) bias_gradient(d_s);
    return d_s;
  }

  // dS includes the scale of K, which does not apply to the bias, so it is divided out.
  void bias_gradient(graph::Uid d_s) {
    const graph::Uid d_bias = add_bias_tensor(g_, spec_, Role::d_bias);
    const auto scale = add_scale(g_, spec_);
    if (!scale) {
      g_.reduce(graph::ReductionOperator::ADD, d_s, d_bias);
      return;
    }
    const graph::Uid sum = g_.reduce(graph::ReductionOperator::ADD, d_s, Dims(g_.at(d_bias).dims));
    const graph::Uid inverse = g_.pointwise(graph::PointwiseMode::RECIPROCAL, *scale);
    g_.pointwise(graph::PointwiseMode::MUL, sum, inverse, {.into = d_bias});
  }

  GraphBuilder g_;
  const AttentionSpec& spec_;
  SequenceLengths lengths_;
  graph::Uid s_ = 0, dropout_scale_ = 0;
};

}  // namespace

graph::OpGraph build_mha_backward(const AttentionSpec& spec) {
  return LegacyBackward(spec).build();
}

}  // namespace attnprobe::build
