#include "attention/spec.hpp"

#include <cmath>

namespace attnprobe::attention {
namespace {

Strides resolve(const TensorLayout& layout, const TensorShape& shape) {
  if (layout.strides) return *layout.strides;
  return strides_of(layout.axes, shape).value();
}

}  // namespace

TensorLayout output_layout(const AttentionSpec& spec) {
  if (spec.o) return *spec.o;
  // Explicit strides of Q say nothing about O; cudnn-frontend's examples then use bshd.
  return {spec.q.strides ? "bshd" : without_interleave(spec.q.axes), {}};
}

DataType output_type(const AttentionSpec& spec) {
  return spec.o_dtype.value_or(spec.dtype);
}

DataType d_output_type(const AttentionSpec& spec) {
  return spec.do_dtype.value_or(spec.dtype);
}

DataType gradient_type(const AttentionSpec& spec) {
  return spec.dqkv_dtype.value_or(output_type(spec));
}

DataType bias_gradient_type(const AttentionSpec& spec) {
  return spec.bias->grad_dtype.value_or(spec.bias->dtype.value_or(spec.dtype));
}

int64_t heads_v(const AttentionSpec& spec) {
  return spec.heads_v.value_or(spec.heads_kv);
}

bool is_fp8(const AttentionSpec& spec) {
  return is_fp8(spec.dtype);
}

Fp8Scaling fp8_scaling(const AttentionSpec& spec) {
  if (spec.fp8) return *spec.fp8;
  const DataType o = output_type(spec);
  return is_fp8(o) ? Fp8Scaling::delayed : Fp8Scaling::current;
}

SeedForm seed_form(const AttentionSpec& spec) {
  return spec.dropout->seed.value_or(spec.pattern == Pattern::mha ? SeedForm::constant : SeedForm::i64);
}

bool is_ragged(const AttentionSpec& spec) {
  return spec.q.ragged() || spec.k.ragged() || spec.v.ragged() || output_layout(spec).ragged();
}

bool is_bprop(const AttentionSpec& spec) {
  return spec.pass == Pass::bprop;
}

double scale_of(const AttentionSpec& spec) {
  return spec.scale.value_or(1.0 / std::sqrt(static_cast<double>(spec.head_dim_qk)));
}

bool wants_stats(const AttentionSpec& spec) {
  // The legacy pattern trains with S itself.
  return spec.stats.value_or(spec.pass == Pass::fprop_train && spec.pattern != Pattern::mha);
}

namespace {

TensorShape q_shape(const AttentionSpec& s) {
  return {s.batch, s.heads_q, s.seqlen_q, s.head_dim_qk};
}
TensorShape k_shape(const AttentionSpec& s) {
  return {s.batch, s.heads_kv, s.seqlen_kv, s.head_dim_qk};
}
TensorShape v_shape(const AttentionSpec& s) {
  return {s.batch, heads_v(s), s.seqlen_kv, s.head_dim_v};
}
TensorShape o_shape(const AttentionSpec& s) {
  return {s.batch, s.heads_q, s.seqlen_q, s.head_dim_v};
}

}  // namespace

Strides q_strides(const AttentionSpec& spec) {
  return resolve(spec.q, q_shape(spec));
}
Strides k_strides(const AttentionSpec& spec) {
  return resolve(spec.k, k_shape(spec));
}
Strides v_strides(const AttentionSpec& spec) {
  return resolve(spec.v, v_shape(spec));
}
Strides o_strides(const AttentionSpec& spec) {
  return resolve(output_layout(spec), o_shape(spec));
}
bool has_ragged_stats(const AttentionSpec& spec) {
  return spec.q.ragged() && spec.ragged_stats;
}
Strides stats_strides(const AttentionSpec& spec) {
  const bool ragged = has_ragged_stats(spec);
  // Ragged rows are ordered by token: the values of a token's heads are adjacent.
  const TensorLayout usual{ragged ? "bshd" : "bhsd", {}};
  const TensorLayout& layout = spec.stats_layout ? *spec.stats_layout : usual;
  Strides strides = resolve(layout, {spec.batch, spec.heads_q, spec.seqlen_q, 1});
  // Ordered by head: a head spans the tokens of every sequence.
  if (ragged && !layout.strides && strides[1] > strides[2]) strides[1] = spec.batch * spec.seqlen_q * strides[2];
  return strides;
}
Strides d_o_strides(const AttentionSpec& spec) {
  return resolve(spec.d_o.value_or(output_layout(spec)), o_shape(spec));
}
Strides dq_strides(const AttentionSpec& spec) {
  return resolve(spec.dq.value_or(spec.q), q_shape(spec));
}
Strides dk_strides(const AttentionSpec& spec) {
  return resolve(spec.dk.value_or(spec.k), k_shape(spec));
}
Strides dv_strides(const AttentionSpec& spec) {
  return resolve(spec.dv.value_or(spec.v), v_shape(spec));
}

std::array<int64_t, 4> bias_dims(const AttentionSpec& spec) {
  std::array<int64_t, 4> dims{spec.batch, spec.heads_q, spec.seqlen_q, spec.seqlen_kv};
  for (size_t i = 0; i < dims.size(); ++i)
    if (spec.bias->shape[i] == '1') dims[i] = 1;
  return dims;
}

}  // namespace attnprobe::attention
