#include "build/attention_tensors.hpp"

#include <utility>

namespace attnprobe::build {
namespace {

using attention::AttentionSpec;

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

Dims as_dims(const attention::Strides& strides) {
  return {strides.begin(), strides.end()};
}

SequenceLengths add_sequence_lengths(GraphBuilder& g, const AttentionSpec& s) {
  if (!s.mask.padding && !s.paged) return {};
  using attention::Sides;
  const Dims dims{s.batch, 1, 1, 1}, sums{s.batch + 1, 1, 1, 1}, strides{1, 1, 1, 1};
  SequenceLengths lengths;
  if (s.cu_seqlens && *s.cu_seqlens != Sides::kv)
    lengths.cu_q = g.tensor(Role::cu_seq_len_q, DataType::i32, sums, strides);
  else
    lengths.q = g.tensor(Role::seq_len_q, DataType::i32, dims, strides);
  if (s.cu_seqlens && *s.cu_seqlens != Sides::q)
    lengths.cu_kv = g.tensor(Role::cu_seq_len_kv, DataType::i32, sums, strides);
  else
    lengths.kv = g.tensor(Role::seq_len_kv, DataType::i32, dims, strides);
  return lengths;
}

RaggedOffsets add_ragged_offsets(GraphBuilder& g, const AttentionSpec& s) {
  auto offset = [&](bool ragged, Role role) -> std::optional<graph::Uid> {
    if (!ragged) return std::nullopt;
    return g.tensor(role, s.ragged_offsets, {s.batch + 1, 1, 1, 1}, {1, 1, 1, 1});
  };
  RaggedOffsets offsets;
  offsets.q = offset(s.q.ragged(), Role::offsets_q);
  offsets.k = offset(s.k.ragged() && !(s.paged && s.paged->k), Role::offsets_k);
  offsets.v = s.ragged_shared ? offsets.k : offset(s.v.ragged() && !(s.paged && s.paged->v), Role::offsets_v);
  offsets.o = s.ragged_shared ? offsets.q : offset(output_layout(s).ragged(), Role::offsets_o);
  const bool has_rows = is_bprop(s) || wants_stats(s) || s.max_logit || s.sum_exp;
  offsets.stats = offset(has_ragged_stats(s) && has_rows, Role::offsets_stats);
  return offsets;
}

graph::Uid with_offset(GraphBuilder& g, graph::Uid tensor, std::optional<graph::Uid> offset) {
  g.at(tensor).ragged_offset = offset;
  return tensor;
}

graph::Uid with_offset_like(GraphBuilder& g, const AttentionSpec& s, graph::Uid tensor, Role role,
                            std::optional<graph::Uid> offset, const attention::Strides& like) {
  constexpr size_t token = 2;
  if (offset && g.at(tensor).strides[token] != like[token])
    offset = g.tensor(role, s.ragged_offsets, {s.batch + 1, 1, 1, 1}, {1, 1, 1, 1});
  return with_offset(g, tensor, offset);
}

graph::Uid add_q(GraphBuilder& g, const AttentionSpec& s, const RaggedOffsets& offsets) {
  const Dims dims{s.batch, s.heads_q, s.seqlen_q, s.head_dim_qk};
  return with_offset(g, g.tensor(Role::q, s.dtype, dims, as_dims(q_strides(s))), offsets.q);
}

graph::Uid add_k(GraphBuilder& g, const AttentionSpec& s, const RaggedOffsets& offsets) {
  const Dims dims{s.batch, s.heads_kv, s.seqlen_kv, s.head_dim_qk};
  return with_offset(g, g.tensor(Role::k, s.dtype, dims, as_dims(k_strides(s))), offsets.k);
}

graph::Uid add_v(GraphBuilder& g, const AttentionSpec& s, const RaggedOffsets& offsets) {
  const Dims dims{s.batch, heads_v(s), s.seqlen_kv, s.head_dim_v};
  return with_offset(g, g.tensor(Role::v, s.dtype, dims, as_dims(v_strides(s))), offsets.v);
}

graph::Uid add_o(GraphBuilder& g, const AttentionSpec& s, const RaggedOffsets& offsets) {
  return with_offset(g, g.tensor(Role::o, output_type(s), output_dims(s), as_dims(o_strides(s))), offsets.o);
}

graph::Uid add_rope(GraphBuilder& g, const AttentionSpec& s, graph::Uid x, Role angles) {
  const Dims dims = g.at(x).dims, strides = g.at(x).strides;
  const int64_t rotated = s.rope->dim.value_or(dims[3]);
  graph::Rope op;
  op.x = x;
  op.angles = g.tensor(angles, DataType::f32, {dims[2], 1, 1, rotated}, {rotated, rotated, rotated, 1});
  // In memory, as in cudnn-frontend (Graph::rope): the backward pass needs it.
  op.y = g.tensor("rotated " + g.at(x).name, g.at(x).data_type, dims, strides);
  op.scale = 1;
  op.dim = rotated;
  g.add(op);
  return op.y;
}

graph::Uid transposed(GraphBuilder& g, graph::Uid uid) {
  graph::Tensor& t = g.at(uid);
  t.name += "^T";
  if (t.role == Role::k) t.role = Role::k_transposed;
  if (t.role == Role::v) t.role = Role::v_transposed;
  std::swap(t.dims[2], t.dims[3]);
  std::swap(t.strides[2], t.strides[3]);
  return uid;
}

graph::Uid add_container(GraphBuilder& g, const AttentionSpec& s, Role role, int64_t heads, int64_t head_dim) {
  const int64_t block = s.paged->block_size, blocks = s.batch * ceil_div(s.seqlen_kv, block);
  const auto strides = attention::strides_of(s.paged->layout, {blocks, heads, block, head_dim}).value();
  return g.tensor(role, s.dtype, {blocks, heads, block, head_dim}, as_dims(strides));
}

graph::Uid add_page_table(GraphBuilder& g, const AttentionSpec& s, Role role) {
  const Role offsets = role == Role::page_table_k ? Role::offsets_page_table_k : Role::offsets_page_table_v;
  const int64_t pages = ceil_div(s.seqlen_kv, s.paged->block_size);
  const graph::Uid table = g.tensor(role, DataType::i32, {s.batch, 1, pages, 1}, {pages, pages, 1, 1});
  if (s.paged->packed_table)
    g.at(table).ragged_offset = g.tensor(offsets, DataType::i32, {s.batch + 1, 1, 1, 1}, {1, 1, 1, 1});
  return table;
}

graph::Uid add_row_tensor(GraphBuilder& g, const AttentionSpec& s, Role role, const RaggedOffsets& offsets) {
  const Dims rows = row_dims(s);
  // Workspaces are packed unless ragged.
  const bool is_stats = role == Role::stats;
  const Dims strides = offsets.stats || (is_stats && s.stats_layout) ? as_dims(stats_strides(s)) : packed_strides(rows);
  const DataType type = is_stats ? s.stats_dtype.value_or(DataType::f32) : DataType::f32;
  return with_offset(g, g.tensor(role, type, rows, strides), offsets.stats);
}

graph::Uid add_head_tensor(GraphBuilder& g, const AttentionSpec& s, Role role) {
  return g.tensor(role, DataType::f32, {1, s.heads_q, 1, 1}, {s.heads_q, 1, 1, 1});
}

std::optional<graph::Uid> add_scale(GraphBuilder& g, const AttentionSpec& s) {
  switch (s.scale_form) {
    case attention::ScaleForm::none:
      return std::nullopt;
    case attention::ScaleForm::tensor:
      return g.one_element(Role::scale, DataType::f32);
    case attention::ScaleForm::by_value:
      break;
  }
  return g.scalar(Role::scale, DataType::f32, scale_of(s));
}

graph::Uid add_bias_tensor(GraphBuilder& g, const AttentionSpec& s, Role role) {
  const Dims dims = as_dims(bias_dims(s));
  const bool is_gradient = role != Role::bias;
  return g.tensor(role, is_gradient ? bias_gradient_type(s) : s.bias->dtype.value_or(s.dtype), dims,
                  s.bias->strides && !is_gradient ? as_dims(*s.bias->strides) : packed_strides(dims));
}

Dims score_dims(const AttentionSpec& s) {
  return {s.batch, s.heads_q, s.seqlen_q, s.seqlen_kv};
}

Dims row_dims(const AttentionSpec& s) {
  return {s.batch, s.heads_q, s.seqlen_q, 1};
}

Dims output_dims(const AttentionSpec& s) {
  return {s.batch, s.heads_q, s.seqlen_q, s.head_dim_v};
}

}  // namespace attnprobe::build
