// Flash attention forward from primitive operations, as cudnn-frontend 1.23 to 1.32 builds it
// (node/scaled_dot_product_flash_attention.h, node/softmax.h).
#include "base/version.hpp"
#include "build/build.hpp"
#include "build/flash_parts.hpp"
#include "build/frontend_wiring.hpp"
#include "build/scores.hpp"
#include "build/softmax.hpp"

namespace attnprobe::build {
namespace {

using attention::AttentionSpec;
using attention::DropoutForm;
using attention::Fp8Scaling;

// The softmax outputs other than P. Before 9.21, cuDNN's matcher supports only the statistics, the maxima, or maxima
// and sums. Other combinations are built anyway, so that cuDNN itself refuses them.
struct SoftmaxOutputs {
  std::optional<graph::Uid> stats, max, sum_exp;
};

class Forward {
 public:
  Forward(const AttentionSpec& spec, const BuildContext& context)
      : spec_(spec),
        lengths_(add_sequence_lengths(g_, spec)),
        offsets_(add_ragged_offsets(g_, spec)),
        scores_(g_, spec, lengths_, context.cudnn_version),
        version_(context.cudnn_version) {}

  graph::OpGraph build() {
    graph::Uid q = add_q(g_, spec_, offsets_);
    if (spec_.rope && spec_.rope->q) q = add_rope(g_, spec_, q, Role::angles_q);
    graph::Uid k = key();
    if (mxfp8()) {
      k = dequantize(g_, k, Role::descale_k, BlockAxis::head_dim, true);
      q = dequantize(g_, q, Role::descale_q, BlockAxis::head_dim);
    }
    graph::Uid score = g_.virtual_tensor(Role::scores, DataType::f32, score_dims(spec_));
    g_.matmul(q, k, score, lengths_.q, lengths_.kv);
    if (const auto scale = add_scale(g_, spec_)) score = multiply(g_, score, *scale);
    if (scaled()) {
      score = multiply(g_, score, g_.one_element(Role::descale_q, DataType::f32));
      score = multiply(g_, score, g_.one_element(Role::descale_k, DataType::f32));
    }
    score = scores_.modify(score);
    score = scores_.bias(score);
    score = scores_.alibi(score);
    score = scores_.padding(score);
    score = scores_.diagonal(score);
    const graph::Uid p = dropout_and_scale(softmax(score));
    output(p);
    return g_.take();
  }

 private:
  bool mxfp8() const { return is_fp8(spec_) && fp8_scaling(spec_) == Fp8Scaling::mxfp8; }
  // One scale per tensor, as operations of the graph.
  bool scaled() const { return is_fp8(spec_) && !mxfp8(); }

  graph::Uid key() {
    if (!spec_.paged || !spec_.paged->k) {
      const graph::Uid plain = add_k(g_, spec_, offsets_);
      return transposed(g_, spec_.rope && spec_.rope->k ? add_rope(g_, spec_, plain, Role::angles_k) : plain);
    }
    const int64_t heads = spec_.heads_kv, d = spec_.head_dim_qk, s = spec_.seqlen_kv;
    const graph::Uid k =
        g_.virtual_tensor(Role::k_transposed, spec_.dtype, {spec_.batch, heads, d, s}, {d * s * heads, d * s, 1, d});
    load(Role::k_container, Role::page_table_k, heads, d, k);
    return k;
  }

  graph::Uid value() {
    if (!spec_.paged || !spec_.paged->v) return add_v(g_, spec_, offsets_);
    const int64_t heads = heads_v(spec_), d = spec_.head_dim_v;
    const graph::Uid v = g_.virtual_tensor(Role::v, spec_.dtype, {spec_.batch, heads, spec_.seqlen_kv, d});
    load(Role::v_container, Role::page_table_v, heads, d, v);
    return v;
  }

  void load(Role container_role, Role table_role, int64_t heads, int64_t head_dim, graph::Uid into) {
    const graph::Uid container = add_container(g_, spec_, container_role, heads, head_dim);
    const graph::Uid table = add_page_table(g_, spec_, table_role);
    g_.add(graph::PagedCacheLoad{container, table, *lengths_.kv, into});
  }

  // P is virtual and ends in the io type, as the second matmul requires.
  DataType p_type() const { return spec_.dropout || scaled() ? DataType::f32 : spec_.dtype; }

  graph::Uid row(Role role, bool real) {
    if (real) return add_row_tensor(g_, spec_, role, offsets_);
    return g_.virtual_tensor(role, DataType::f32, row_dims(spec_));
  }

  graph::Uid softmax(graph::Uid score) {
    std::optional<graph::Uid> sink;
    if (spec_.sink) sink = add_head_tensor(g_, spec_, Role::sink);
    // Only that operation supports another base of the statistics, so it is used even for older cuDNNs.
    if (version_ >= frontend_wiring().single_operations || (spec_.stats_log2 && wants_stats(spec_))) {
      graph::Softmax op;
      op.x = score;
      op.sink = sink;
      op.y = g_.virtual_tensor(Role::probabilities, p_type(), score_dims(spec_));
      if (wants_stats(spec_)) op.stats = row(Role::stats, true);
      if (spec_.stats_log2 && op.stats) op.stats_log2 = true;
      if (spec_.max_logit) op.max = row(Role::max, true);
      if (spec_.sum_exp) op.sum_exp = row(Role::sum_exp, true);
      g_.add(op);
      return op.y;
    }
    const SoftmaxParts parts = add_softmax(g_, score, row(Role::row_max, spec_.max_logit),
                                           row(Role::row_sum, spec_.sum_exp), sink, SinkMaximum::of_frontend);
    // Inference also has these operations; no operation reads their virtual result. Without maxima or sums, cuDNN needs
    // LOG and ADD to distinguish flash attention from the legacy pattern.
    if (wants_stats(spec_) || (!spec_.max_logit && !spec_.sum_exp)) {
      const graph::Uid log_sum = g_.pointwise(graph::PointwiseMode::LOG, parts.row_sum);
      g_.pointwise(graph::PointwiseMode::ADD, parts.row_max, log_sum, {.into = row(Role::stats, wants_stats(spec_))});
    }
    return g_.pointwise(graph::PointwiseMode::DIV, parts.exponentials, parts.row_sum,
                        {.out = p_type(), .called = Role::probabilities});
  }

  graph::Uid dropout_and_scale(graph::Uid p) {
    const DataType last = scaled() ? DataType::f32 : spec_.dtype;
    if (spec_.dropout) {
      const DropoutTensors dropout = add_dropout(g_, spec_, false);
      // The scale follows a drawn mask and precedes the caller's mask.
      const bool given = spec_.dropout->form == DropoutForm::mask;
      p = multiply(g_, p, given ? dropout.scale : dropout.mask);
      p = g_.pointwise(graph::PointwiseMode::MUL, p, given ? dropout.mask : dropout.scale, {.out = last});
    }
    if (!scaled()) return p;
    add_amax(g_, p, Role::amax_s);
    return g_.pointwise(graph::PointwiseMode::MUL, p, g_.one_element(Role::scale_s, DataType::f32),
                        {.out = spec_.dtype});
  }

  void output(graph::Uid p) {
    graph::Uid v = value();
    if (mxfp8()) v = dequantize(g_, v, Role::descale_v, BlockAxis::seqlen);
    const graph::Uid o = add_o(g_, spec_, offsets_);
    if (!scaled()) {
      g_.matmul(p, v, o, lengths_.q, {}, lengths_.kv);
      if (mxfp8()) add_amax(g_, o, Role::amax_o);
      return;
    }
    graph::Uid result = g_.virtual_tensor("", DataType::f32, output_dims(spec_));
    g_.matmul(p, v, result, lengths_.q, {}, lengths_.kv);
    result = multiply(g_, result, g_.one_element(Role::descale_s, DataType::f32));
    result = multiply(g_, result, g_.one_element(Role::descale_v, DataType::f32));
    g_.pointwise(graph::PointwiseMode::MUL, result, add_output_scale(g_, spec_, Role::scale_o), {.into = o});
    add_amax(g_, result, Role::amax_o);  // before the scale
  }

  GraphBuilder g_;
  const AttentionSpec& spec_;
  SequenceLengths lengths_;
  RaggedOffsets offsets_;
  Scores scores_;
  CudnnVersion version_;
};

}  // namespace

graph::OpGraph build_sdpa_composite(const AttentionSpec& spec, const BuildContext& context) {
  return Forward(spec, context).build();
}

}  // namespace attnprobe::build
