// Flash attention backward in fp8, as cudnn-frontend 1.23 to 1.32 builds it (node/sdpa_fp8_bwd.h). Scales are one per
// tensor, or one per 32 elements (MXFP8), where Q, K and dO are quantised along both axes. Unlike the 16-bit graph it
// masks before it subtracts the statistics, and computes dQ before dK.
#include "build/build.hpp"
#include "build/flash_parts.hpp"
#include "build/scores.hpp"

namespace attnprobe::build {
namespace {

using attention::AttentionSpec;
using attention::Fp8Scaling;

class Fp8Backward {
 public:
  Fp8Backward(const AttentionSpec& spec, const BuildContext& context)
      : spec_(spec),
        mxfp8_(fp8_scaling(spec) == Fp8Scaling::mxfp8),
        lengths_(add_sequence_lengths(g_, spec)),
        offsets_(add_ragged_offsets(g_, spec)),
        scores_(g_, spec, lengths_, context.cudnn_version) {}

  graph::OpGraph build() {
    add_inputs();
    if (spec_.dropout) dropout_ = add_dropout(g_, spec_, true);
    const graph::Uid row_sum = row_sums();
    const graph::Uid p = probabilities();
    value_gradient(p);
    const graph::Uid d_s = score_gradient(p, row_sum);
    query_gradient(d_s);
    key_gradient(d_s);
    return g_.take();
  }

 private:
  graph::Uid mul(graph::Uid a, graph::Uid b) { return multiply(g_, a, b); }
  graph::Uid factor(Role role) { return g_.one_element(role, DataType::f32); }

  void add_inputs() {
    q_ = q_raw_ = add_q(g_, spec_, offsets_);
    k_ = k_raw_ = transposed(g_, add_k(g_, spec_, offsets_));
    v_ = transposed(g_, add_v(g_, spec_, offsets_));
    o_ = add_o(g_, spec_, offsets_);
    d_o_ = d_o_raw_ = add_output_gradient(g_, spec_, Role::d_o, d_output_type(spec_), offsets_.o);
    stats_ = add_row_tensor(g_, spec_, Role::stats, offsets_);
    scale_ = add_scale(g_, spec_);
    if (mxfp8_) {
      k_ = dequantize(g_, k_, Role::descale_k, BlockAxis::head_dim, true);
      v_ = dequantize(g_, v_, Role::descale_v, BlockAxis::head_dim, true);
      q_ = dequantize(g_, q_, Role::descale_q, BlockAxis::head_dim);
      d_o_ = dequantize(g_, d_o_, Role::descale_d_o, BlockAxis::head_dim);
      return;
    }
    descale_q_ = factor(Role::descale_q);
    descale_k_ = factor(Role::descale_k);
    descale_v_ = factor(Role::descale_v);
    // A 16-bit O needs no scale; current scaling passes the value 1.
    const bool plain_o = fp8_scaling(spec_) == Fp8Scaling::current && !is_fp8(output_type(spec_));
    descale_o_ = plain_o ? g_.scalar(Role::descale_o, DataType::f32, 1.0) : factor(Role::descale_o);
    descale_d_o_ = factor(Role::descale_d_o);
    descale_s_ = factor(Role::descale_s);
    descale_d_p_ = factor(Role::descale_dp);
  }

  // A tensor that the caller also quantises along the sequence.
  graph::Uid along_sequence(Role role, Role descale, DataType type, const Dims& dims, const Dims& strides,
                            BlockAxis axis = BlockAxis::seqlen) {
    const graph::Uid x = g_.tensor(role, type, dims, strides);
    return dequantize(g_, x, descale, axis);
  }

  graph::Uid row_sums() {
    const graph::Uid d_o =
        mxfp8_ ? add_output_gradient(g_, spec_, Role::d_o_16_bit, output_type(spec_), offsets_.o) : d_o_raw_;
    const graph::Uid product =
        g_.pointwise(graph::PointwiseMode::MUL, d_o, o_,
                     {.into = g_.virtual_tensor("", DataType::f32, output_dims(spec_), Dims(g_.at(d_o).strides))});
    graph::Uid sums = g_.reduce(graph::ReductionOperator::ADD, product, row_dims(spec_));
    if (!mxfp8_) sums = mul(mul(sums, descale_d_o_), descale_o_);
    if (spec_.sink) add_sink_gradient(g_, spec_, stats_, sums);
    if (dropout_) return mul(sums, dropout_->scale_inv);
    // Without this the matcher treats the sink's product as the softmax path.
    return spec_.sink ? mul(sums, g_.scalar("one", DataType::f32, 1.0)) : sums;
  }

  graph::Uid probabilities() {
    graph::Uid score = g_.virtual_tensor(Role::scores, DataType::f32, score_dims(spec_));
    g_.matmul(q_, k_, score, lengths_.q, lengths_.kv);
    if (scale_) score = mul(score, *scale_);
    if (!mxfp8_) score = mul(mul(score, descale_q_), descale_k_);
    // cudnn-frontend supports neither modifiers nor ALiBi here, so cuDNN decides.
    score = scores_.modify(score);
    score = scores_.bias(score);
    score = scores_.alibi(score);
    score = scores_.padding(score);
    score = scores_.diagonal(score);
    return g_.pointwise(graph::PointwiseMode::EXP, g_.pointwise(graph::PointwiseMode::SUB, score, stats_));
  }

  // c = a b with its scales, and its largest absolute value.
  void scaled_matmul(graph::Uid a, graph::Uid b, graph::Uid descale_a, graph::Uid descale_b, graph::Uid c, Role scale,
                     Role amax, std::optional<graph::Uid> m, std::optional<graph::Uid> k) {
    if (mxfp8_) {
      matmul_over_heads(g_, a, b, c, m, k, {DataType::f32});
      add_amax(g_, c, amax);
      return;
    }
    Dims dims = g_.at(c).dims;
    const int64_t kept = dims[1];
    dims[1] = g_.at(a).dims[1];
    graph::Uid result = g_.virtual_tensor("", DataType::f32, dims);
    g_.matmul(a, b, result, m, {}, k);
    if (dims[1] != kept) result = g_.reduce(graph::ReductionOperator::ADD, result, Dims(g_.at(c).dims));
    result = mul(mul(result, descale_a), descale_b);
    g_.pointwise(graph::PointwiseMode::MUL, result, add_output_scale(g_, spec_, scale), {.into = c});
    add_amax(g_, result, amax);
  }

  void value_gradient(graph::Uid p) {
    if (dropout_) p = mul(mul(p, dropout_->mask), dropout_->scale);
    if (!mxfp8_) p = g_.pointwise(graph::PointwiseMode::MUL, p, factor(Role::scale_s), {.out = spec_.dtype});
    const graph::Uid p_t = transpose_scores(g_, spec_, p, mxfp8_ ? DataType::f32 : spec_.dtype);
    const graph::Uid d_o = mxfp8_
                               ? along_sequence(Role::d_o_by_sequence, Role::descale_d_o_by_sequence,
                                                d_output_type(spec_), output_dims(spec_), as_dims(d_o_strides(spec_)))
                               : d_o_raw_;
    const graph::Uid d_v = add_gradient(g_, spec_, Role::dv, offsets_);
    scaled_matmul(p_t, d_o, descale_s_, descale_d_o_, d_v, Role::scale_dv, Role::amax_dv, lengths_.kv, lengths_.q);
  }

  graph::Uid score_gradient(graph::Uid p, graph::Uid row_sum) {
    graph::Uid x = g_.virtual_tensor(Role::d_probabilities, DataType::f32, score_dims(spec_));
    g_.matmul(d_o_, v_, x, lengths_.q, lengths_.kv);
    if (!mxfp8_) x = mul(mul(x, descale_d_o_), descale_v_);
    x = mul(g_.pointwise(graph::PointwiseMode::SUB, x, row_sum), p);
    if (dropout_) x = mul(x, dropout_->scale);
    // cudnn-frontend does not support this either; placed as in the 16-bit graph.
    if (spec_.bias && spec_.bias->grad)
      g_.reduce(graph::ReductionOperator::ADD, x, add_bias_tensor(g_, spec_, Role::d_bias));
    x = scores_.modify_backward(x);
    if (scale_) x = mul(x, *scale_);
    if (mxfp8_) return x;
    add_amax(g_, x, Role::amax_dp);
    return g_.pointwise(graph::PointwiseMode::MUL, x, factor(Role::scale_dp), {.out = d_output_type(spec_)});
  }

  void query_gradient(graph::Uid d_s) {
    const Dims k_dims{spec_.batch, spec_.heads_kv, spec_.seqlen_kv, spec_.head_dim_qk};
    const Dims k_strides_ = as_dims(k_strides(spec_));
    graph::Uid k = 0;
    if (mxfp8_) {
      k = along_sequence(Role::k_by_sequence, Role::descale_k_by_sequence, spec_.dtype, k_dims, k_strides_,
                         BlockAxis::seqlen_spread);
    } else {
      k = with_offset(g_, g_.virtual_tensor(Role::k, DataType::f32, k_dims, k_strides_), offsets_.k);
      g_.reshape(k_raw_, k);
    }
    const graph::Uid d_q = add_gradient(g_, spec_, Role::dq, offsets_);
    scaled_matmul(d_s, k, descale_d_p_, descale_k_, d_q, Role::scale_dq, Role::amax_dq, lengths_.q, lengths_.kv);
  }

  void key_gradient(graph::Uid d_s) {
    const graph::Uid d_s_t = transpose_scores(g_, spec_, d_s, mxfp8_ ? DataType::f32 : d_output_type(spec_));
    graph::Uid q = q_raw_;
    if (mxfp8_)
      q = along_sequence(Role::q_by_sequence, Role::descale_q_by_sequence, spec_.dtype,
                         {spec_.batch, spec_.heads_q, spec_.seqlen_q, spec_.head_dim_qk}, as_dims(q_strides(spec_)),
                         BlockAxis::seqlen_spread);
    const graph::Uid d_k = add_gradient(g_, spec_, Role::dk, offsets_);
    scaled_matmul(d_s_t, q, descale_d_p_, descale_q_, d_k, Role::scale_dk, Role::amax_dk, lengths_.kv, lengths_.q);
  }

  GraphBuilder g_;
  const AttentionSpec& spec_;
  bool mxfp8_;
  SequenceLengths lengths_;
  RaggedOffsets offsets_;
  Scores scores_;
  // "raw": as passed by the caller; otherwise ready for the matmul.
  graph::Uid q_ = 0, q_raw_ = 0, k_ = 0, k_raw_ = 0, v_ = 0, o_ = 0, d_o_ = 0, d_o_raw_ = 0, stats_ = 0;
  graph::Uid descale_q_ = 0, descale_k_ = 0, descale_v_ = 0, descale_o_ = 0, descale_d_o_ = 0, descale_s_ = 0,
             descale_d_p_ = 0;
  std::optional<graph::Uid> scale_;
  std::optional<DropoutTensors> dropout_;
};

}  // namespace

graph::OpGraph build_sdpa_fp8_backward(const AttentionSpec& spec, const BuildContext& context) {
  return Fp8Backward(spec, context).build();
}

}  // namespace attnprobe::build
