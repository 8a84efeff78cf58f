// Flash attention backward from primitive operations, 16-bit, as cudnn-frontend 1.23 to 1.32 builds it
// (node/scaled_dot_product_flash_attention.h). P is recomputed from the scores and the statistics.
#include "base/version.hpp"
#include "build/build.hpp"
#include "build/flash_parts.hpp"
#include "build/frontend_wiring.hpp"
#include "build/scores.hpp"

namespace attnprobe::build {
namespace {

using attention::AttentionSpec;

class Backward {
 public:
  Backward(const AttentionSpec& spec, const BuildContext& context)
      : spec_(spec),
        lengths_(add_sequence_lengths(g_, spec)),
        offsets_(add_ragged_offsets(g_, spec)),
        scores_(g_, spec, lengths_, context.cudnn_version),
        version_(context.cudnn_version) {}

  graph::OpGraph build() {
    q_ = add_q(g_, spec_, offsets_);
    k_ = transposed(g_, add_k(g_, spec_, offsets_));
    v_ = transposed(g_, add_v(g_, spec_, offsets_));
    o_ = add_o(g_, spec_, offsets_);
    d_o_ = add_output_gradient(g_, spec_, Role::d_o, d_output_type(spec_), offsets_.o);
    stats_ = add_row_tensor(g_, spec_, Role::stats, offsets_);
    scale_ = add_scale(g_, spec_);
    if (spec_.dropout) dropout_ = add_dropout(g_, spec_, true);
    const graph::Uid softmax_sum = row_sums();
    const graph::Uid p = probabilities();
    value_gradient(p);
    const graph::Uid d_s = score_gradient(p, softmax_sum);
    key_gradient(d_s);
    query_gradient(d_s);
    return g_.take();
  }

 private:
  graph::Uid mul(graph::Uid a, graph::Uid b) { return multiply(g_, a, b); }

  // D = rowsum(dO O), times 1 - p. It is in memory: the caller passes it as a workspace.
  graph::Uid row_sums() {
    // cudnn-frontend's strides, a mix of two layouts.
    const int64_t h = spec_.heads_q, s = spec_.seqlen_q, d = spec_.head_dim_v;
    const graph::Uid product =
        g_.pointwise(graph::PointwiseMode::MUL, d_o_, o_,
                     {.into = g_.virtual_tensor("", DataType::f32, output_dims(spec_), {h * s * d, s * d, h * d, 1})});
    const graph::Uid sums = g_.reduce(graph::ReductionOperator::ADD, product, row_dims(spec_));
    if (spec_.sink) add_sink_gradient(g_, spec_, stats_, sums);
    const bool ragged = offsets_.stats && spec_.max_total_seqlen_q;
    const graph::Uid softmax_sum = add_row_tensor(g_, spec_, Role::softmax_sum, ragged ? offsets_ : RaggedOffsets{});
    const graph::Uid factor = dropout_ ? dropout_->scale_inv : g_.scalar("one", DataType::f32, 1.0);
    return g_.pointwise(graph::PointwiseMode::MUL, sums, factor, {.into = softmax_sum});
  }

  graph::Uid probabilities() {
    graph::Uid score = g_.virtual_tensor(Role::scores, DataType::f32, score_dims(spec_));
    g_.matmul(q_, k_, score, lengths_.q, lengths_.kv);
    if (scale_) score = mul(score, *scale_);
    score = scores_.modify(score);
    score = scores_.bias(score);
    score = scores_.alibi(score);
    const bool late = spec_.mask.padding_after_stats;
    if (!late) score = scores_.padding(score);
    score = g_.pointwise(graph::PointwiseMode::SUB, score, stats_);
    if (late) score = scores_.padding(score);
    // A workaround in cudnn-frontend: applies padding once more.
    if (frontend_wiring().second_padding.holds_from(version_)) score = scores_.padding(score);
    score = scores_.diagonal(score);
    return g_.pointwise(graph::PointwiseMode::EXP, score);
  }

  HeadSum head_sum(std::optional<graph::Uid> offset) const {
    return {spec_.dtype, offset && spec_.max_total_seqlen_kv};
  }

  void value_gradient(graph::Uid p) {
    if (dropout_) p = mul(mul(p, dropout_->mask), dropout_->scale);
    const graph::Uid d_v = add_gradient(g_, spec_, Role::dv, offsets_);
    matmul_over_heads(g_, transpose_scores(g_, spec_, p, spec_.dtype), d_o_, d_v, lengths_.kv, lengths_.q,
                      head_sum(offsets_.v));
  }

  graph::Uid score_gradient(graph::Uid p, graph::Uid softmax_sum) {
    graph::Uid x = g_.virtual_tensor(Role::d_probabilities, DataType::f32, score_dims(spec_));
    g_.matmul(d_o_, v_, x, lengths_.q, lengths_.kv);
    if (dropout_) x = mul(x, dropout_->mask);
    x = mul(g_.pointwise(graph::PointwiseMode::SUB, x, softmax_sum), p);
    if (dropout_) x = mul(x, dropout_->scale);
    if (spec_.bias && spec_.bias->grad)
      g_.reduce(graph::ReductionOperator::ADD, x, add_bias_tensor(g_, spec_, Role::d_bias));
    x = scores_.modify_backward(x);
    return scale_ ? mul(x, *scale_) : x;
  }

  void key_gradient(graph::Uid d_s) {
    const graph::Uid d_k = add_gradient(g_, spec_, Role::dk, offsets_);
    matmul_over_heads(g_, transpose_scores(g_, spec_, d_s, spec_.dtype), q_, d_k, lengths_.kv, lengths_.q,
                      head_sum(offsets_.k));
  }

  // Accumulates in f32 memory and then converts. A fixed order of additions, or dBias, needs the direct form into dQ;
  // no other setting requests it from cuDNN.
  void query_gradient(graph::Uid d_s) {
    const Dims dims{spec_.batch, spec_.heads_kv, spec_.seqlen_kv, spec_.head_dim_qk};
    const graph::Uid k = g_.virtual_tensor(Role::k, DataType::f32, dims, as_dims(k_strides(spec_)));
    g_.reshape(k_, with_offset(g_, k, offsets_.k));
    const Dims q_dims{spec_.batch, spec_.heads_q, spec_.seqlen_q, spec_.head_dim_qk};
    const graph::Uid d_q = add_gradient(g_, spec_, Role::dq, offsets_);
    if ((spec_.deterministic && !spec_.ordered_dq) || (spec_.bias && spec_.bias->grad)) {
      g_.matmul(d_s, k, d_q, lengths_.q, {}, lengths_.kv);
      return;
    }
    const bool ragged = offsets_.q && spec_.max_total_seqlen_q;
    const graph::Uid sum =
        g_.tensor(Role::dq_sum, DataType::f32, q_dims, ragged ? as_dims(dq_strides(spec_)) : packed_strides(q_dims));
    if (ragged) with_offset(g_, sum, g_.at(d_q).ragged_offset);
    g_.matmul(d_s, k, sum, lengths_.q, {}, lengths_.kv);
    g_.pointwise(graph::PointwiseMode::IDENTITY, sum, {}, {.into = d_q});
  }

  GraphBuilder g_;
  const AttentionSpec& spec_;
  SequenceLengths lengths_;
  RaggedOffsets offsets_;
  Scores scores_;
  CudnnVersion version_;
  graph::Uid q_ = 0, k_ = 0, v_ = 0, o_ = 0, d_o_ = 0, stats_ = 0;
  std::optional<graph::Uid> scale_;
  std::optional<DropoutTensors> dropout_;
};

}  // namespace

graph::OpGraph build_sdpa_composite_backward(const AttentionSpec& spec, const BuildContext& context) {
  return Backward(spec, context).build();
}

}  // namespace attnprobe::build
