#include "attnprobe/graph/attention_tensors.hpp"

#include <utility>

namespace attnprobe::graph {
namespace {

Dims as_dims(const attention::Strides& strides) {
  return {strides.begin(), strides.end()};
}

}  // namespace

Uid add_q(GraphBuilder& g, const attention::AttentionSpec& s) {
  return g.tensor("Q", s.dtype, {s.batch, s.heads_q, s.seqlen_q, s.head_dim_qk}, as_dims(q_strides(s)));
}

Uid add_k(GraphBuilder& g, const attention::AttentionSpec& s) {
  return g.tensor("K", s.dtype, {s.batch, s.heads_kv, s.seqlen_kv, s.head_dim_qk}, as_dims(k_strides(s)));
}

Uid add_k_transposed(GraphBuilder& g, const attention::AttentionSpec& s) {
  Dims strides = as_dims(k_strides(s));
  std::swap(strides[2], strides[3]);
  return g.tensor("K^T", s.dtype, {s.batch, s.heads_kv, s.head_dim_qk, s.seqlen_kv}, strides);
}

Uid add_v(GraphBuilder& g, const attention::AttentionSpec& s) {
  return g.tensor("V", s.dtype, {s.batch, s.heads_kv, s.seqlen_kv, s.head_dim_v}, as_dims(v_strides(s)));
}

Uid add_o(GraphBuilder& g, const attention::AttentionSpec& s) {
  return g.tensor("O", output_type(s), {s.batch, s.heads_q, s.seqlen_q, s.head_dim_v}, as_dims(o_strides(s)));
}

SequenceLengths add_sequence_lengths(GraphBuilder& g, const attention::AttentionSpec& s) {
  if (!s.mask.padding) return {};
  const Dims dims{s.batch, 1, 1, 1}, strides{1, 1, 1, 1};
  return {g.tensor("seq_len_q", DataType::i32, dims, strides),
          g.tensor("seq_len_kv", DataType::i32, dims, strides)};
}

Dims score_dims(const attention::AttentionSpec& s) {
  return {s.batch, s.heads_q, s.seqlen_q, s.seqlen_kv};
}

Dims row_dims(const attention::AttentionSpec& s) {
  return {s.batch, s.heads_q, s.seqlen_q, 1};
}

}  // namespace attnprobe::graph
