// cuDNN's unified SDPA operation, filled as in cudnn-frontend 1.32 (UnifiedSDPANode). Sets even attributes that an
// older cuDNN lacks, so that its refusal names them.
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

// The operations on the scores inside the operation, except padding, which the lengths imply.
template <class Op>
void add_score_graph(GraphBuilder& g, const AttentionSpec& spec, const SequenceLengths& lengths,
                     CudnnVersion cudnn_version, Op& op) {
  if (!spec.score_mod && !spec.softcap && !spec.bias && !spec.alibi && !spec.mask.has_diagonal()) return;
  g.inside_sdpa(true);
  // Diagonal operations exist since the sub-graph does, so they are used for every cuDNN.
  Scores scores(g, spec, lengths, std::max(cudnn_version, frontend_wiring().single_operations));
  op.score_input = g.virtual_tensor(Role::scores_in, DataType::f32, score_dims(spec));
  graph::Uid score = scores.modify(*op.score_input);
  score = scores.bias(score);
  score = scores.alibi(score);
  op.score_output = scores.diagonal(score);
  g.inside_sdpa(false);
}

int64_t blocks_of(int64_t tokens) {
  constexpr int64_t tile = 128;
  return (tokens + tile - 1) / tile;
}

// One bit per tile of 128x128 scores.
graph::Uid add_block_mask(GraphBuilder& g, const AttentionSpec& spec) {
  constexpr int64_t bits = 8;
  const Dims dims{spec.batch, spec.heads_q, blocks_of(spec.seqlen_q), (blocks_of(spec.seqlen_kv) + bits - 1) / bits};
  return g.tensor(Role::block_mask, DataType::u8, dims, packed_strides(dims));
}

void add_outputs(GraphBuilder& g, const AttentionSpec& spec, const RaggedOffsets& offsets, CudnnVersion version,
                 graph::SdpaForward& op) {
  if (wants_stats(spec)) op.stats = add_row_tensor(g, spec, Role::stats, offsets);
  if (spec.max_logit) op.max = add_row_tensor(g, spec, Role::max, offsets);
  if (spec.sum_exp) op.sum_exp = add_row_tensor(g, spec, Role::sum_exp, offsets);
  if (spec.sink) op.sink = add_head_tensor(g, spec, Role::sink);
  if (spec.stats_log2 && op.stats) op.stats_log2 = true;
  // Before the softmax operation existed, the statistics had their own attribute.
  const bool newer = op.max || op.sum_exp || op.sink || op.stats_log2;
  if (!newer && (!op.stats || version < frontend_wiring().single_operations)) return;
  op.softmax_x = g.virtual_tensor(Role::softmax_in, DataType::f32, score_dims(spec));
  op.softmax_y = g.virtual_tensor(Role::softmax_out, DataType::f32, score_dims(spec));
}

// Filled like Graph::sdpa_fp8 (graph_interface.h): one scale per tensor, or one per 32 elements, with none for P.
void add_fp8(GraphBuilder& g, const AttentionSpec& spec, graph::SdpaForward& op) {
  if (!is_fp8(spec)) return;
  auto number = [&](Role role) { return g.one_element(role, DataType::f32); };
  if (fp8_scaling(spec) == attention::Fp8Scaling::mxfp8) {
    op.descale_q = add_block_scales(g, op.q, Role::descale_q, BlockAxis::head_dim);
    op.descale_k = add_block_scales(g, op.k, Role::descale_k, BlockAxis::head_dim);
    op.descale_v = add_block_scales(g, op.v, Role::descale_v, BlockAxis::seqlen);
  } else {
    op.descale_q = number(Role::descale_q);
    op.descale_k = number(Role::descale_k);
    op.descale_v = number(Role::descale_v);
    op.descale_s = number(Role::descale_s);
    op.scale_s = number(Role::scale_s);
    op.scale_o = add_output_scale(g, spec, Role::scale_o);
    op.amax_s = number(Role::amax_s);
  }
  op.amax_o = number(Role::amax_o);
}

}  // namespace

graph::OpGraph build_sdpa_unified(const AttentionSpec& spec, const BuildContext& context) {
  GraphBuilder g;
  const SequenceLengths lengths = add_sequence_lengths(g, spec);
  const RaggedOffsets offsets = add_ragged_offsets(g, spec);
  graph::SdpaForward op;
  op.q = add_q(g, spec, offsets);
  const bool paged_k = spec.paged && spec.paged->k, paged_v = spec.paged && spec.paged->v;
  op.k = paged_k ? add_container(g, spec, Role::k_container, spec.heads_kv, spec.head_dim_qk) : add_k(g, spec, offsets);
  op.v = paged_v ? add_container(g, spec, Role::v_container, heads_v(spec), spec.head_dim_v) : add_v(g, spec, offsets);
  if (spec.rope && spec.rope->q) op.q = add_rope(g, spec, op.q, Role::angles_q);
  if (spec.rope && spec.rope->k) op.k = add_rope(g, spec, op.k, Role::angles_k);
  if (paged_k) op.page_table_k = add_page_table(g, spec, Role::page_table_k);
  if (paged_v) op.page_table_v = add_page_table(g, spec, Role::page_table_v);
  op.o = add_o(g, spec, offsets);
  op.scale = add_scale(g, spec);
  op.seq_len_q = lengths.q;
  op.seq_len_kv = lengths.kv;
  op.cu_seq_len_q = lengths.cu_q;
  op.cu_seq_len_kv = lengths.cu_kv;
  if (spec.unfuse_fma) op.unfuse_fma = true;
  add_fp8(g, spec, op);
  if (spec.block_mask) op.block_mask = add_block_mask(g, spec);
  add_outputs(g, spec, offsets, context.cudnn_version, op);
  add_score_graph(g, spec, lengths, context.cudnn_version, op);
  if (spec.dropout) {
    op.dropout_probability = spec.dropout->probability;
    const SeedTensors tensors = add_seed(g, spec);
    op.seed = tensors.seed;
    op.offset = tensors.offset;
    if (spec.dropout->dump) {
      const Dims dims = score_dims(spec);
      op.rng_dump = g.tensor(Role::dropout_mask, DataType::f32, dims, packed_strides(dims));
    }
  }
  g.add(op);
  return g.take();
}

graph::OpGraph build_sdpa_unified_backward(const AttentionSpec& spec, const BuildContext& context) {
  GraphBuilder g;
  const SequenceLengths lengths = add_sequence_lengths(g, spec);
  const RaggedOffsets offsets = add_ragged_offsets(g, spec);
  graph::SdpaBackward op;
  op.q = add_q(g, spec, offsets);
  op.k = add_k(g, spec, offsets);
  op.v = add_v(g, spec, offsets);
  op.o = add_o(g, spec, offsets);
  op.d_o = add_output_gradient(g, spec, Role::d_o, d_output_type(spec), offsets.o);
  op.stats = add_row_tensor(g, spec, Role::stats, offsets);
  op.scale = add_scale(g, spec);
  op.seq_len_q = lengths.q;
  op.seq_len_kv = lengths.kv;
  op.cu_seq_len_q = lengths.cu_q;
  op.cu_seq_len_kv = lengths.cu_kv;
  op.dq = add_gradient(g, spec, Role::dq, offsets);
  op.dk = add_gradient(g, spec, Role::dk, offsets);
  op.dv = add_gradient(g, spec, Role::dv, offsets);
  op.max_total_seqlen_q = spec.max_total_seqlen_q;
  op.max_total_seqlen_kv = spec.max_total_seqlen_kv;
  if (spec.sink) {
    op.sink = add_head_tensor(g, spec, Role::sink);
    op.d_sink = add_head_tensor(g, spec, Role::d_sink);
  }
  add_score_graph(g, spec, lengths, context.cudnn_version, op);
  if (spec.bias && spec.bias->grad) op.d_bias = add_bias_tensor(g, spec, Role::d_bias);
  if (spec.dropout) {
    op.dropout_probability = spec.dropout->probability;
    const SeedTensors tensors = add_seed(g, spec);
    op.seed = tensors.seed;
    op.offset = tensors.offset;
  }
  g.add(op);
  return g.take();
}

}  // namespace attnprobe::build
