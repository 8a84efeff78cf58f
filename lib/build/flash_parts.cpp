#include "build/flash_parts.hpp"

#include <utility>

namespace attnprobe::build {

using attention::AttentionSpec;
using attention::DropoutForm;
using attention::SeedForm;

namespace {

// Not 0, which cuDNN treats as unset.
constexpr int64_t constant_seed = 1234;

}  // namespace

DropoutTensors add_dropout(GraphBuilder& g, const AttentionSpec& spec, bool backward) {
  const auto& dropout = *spec.dropout;
  const Dims dims = score_dims(spec);
  DropoutTensors tensors;
  if (dropout.form == DropoutForm::mask) {
    tensors.scale = g.one_element(Role::dropout_scale, DataType::f32);
    if (backward) tensors.scale_inv = g.one_element(Role::dropout_scale_inverse, DataType::f32);
    tensors.mask = g.tensor(Role::dropout_mask, spec.dtype, dims, packed_strides(dims));
    return tensors;
  }
  const double keep = 1.0 - dropout.probability;
  graph::Rng rng;
  rng.probability = keep;
  if (seed_form(spec) == SeedForm::constant) {
    rng.constant_seed = constant_seed;
  } else {
    const SeedTensors tensors_of_seed = add_seed(g, spec);
    rng.seed = tensors_of_seed.seed;
    rng.offset = tensors_of_seed.offset;
  }
  tensors.mask = dropout.dump ? g.tensor(Role::dropout_mask, DataType::f32, dims, packed_strides(dims))
                              : g.virtual_tensor(Role::dropout_mask, DataType::f32, dims);
  rng.y = tensors.mask;
  g.add(rng);
  tensors.scale = g.scalar(Role::dropout_scale, DataType::f32, 1.0 / keep);
  if (backward) tensors.scale_inv = g.scalar(Role::dropout_scale_inverse, DataType::f32, keep);
  return tensors;
}

SeedTensors add_seed(GraphBuilder& g, const AttentionSpec& spec) {
  SeedTensors tensors;
  if (seed_form(spec) == SeedForm::by_value) {
    tensors.seed = g.scalar(Role::seed, DataType::i64, static_cast<double>(constant_seed));
    tensors.offset = g.scalar(Role::offset, DataType::i64, 0);
    return tensors;
  }
  const DataType type = seed_form(spec) == SeedForm::i64 ? DataType::i64 : DataType::i32;
  tensors.seed = g.one_element(Role::seed, type);
  tensors.offset = g.one_element(Role::offset, type);
  return tensors;
}

graph::Uid multiply(GraphBuilder& g, graph::Uid x, graph::Uid factor) {
  return g.pointwise(graph::PointwiseMode::MUL, x, factor);
}

void add_amax(GraphBuilder& g, graph::Uid x, Role role) {
  g.reduce(graph::ReductionOperator::AMAX, x, g.one_element(role, DataType::f32));
}

graph::Uid add_output_scale(GraphBuilder& g, const AttentionSpec& spec, Role role) {
  if (fp8_scaling(spec) == attention::Fp8Scaling::current) return g.scalar(role, DataType::f32, 1.0);
  return g.one_element(role, DataType::f32);
}

namespace {
constexpr int64_t block = 32;  // elements that share a scale
}  // namespace

graph::Uid add_block_scales(GraphBuilder& g, graph::Uid x, Role scale_role, BlockAxis axis, bool is_transposed) {
  constexpr int64_t tile_rows = 128, tile_columns = 4;
  auto up = [](int64_t a, int64_t multiple) { return (a + multiple - 1) / multiple * multiple; };
  Dims logical = g.at(x).dims;
  if (is_transposed) std::swap(logical[2], logical[3]);
  auto blocks = [&](int64_t extent) { return up((extent + block - 1) / block, tile_columns); };
  Dims scale_dims = logical;
  if (axis == BlockAxis::head_dim) {
    scale_dims[2] = up(logical[2], tile_rows);
    scale_dims[3] = blocks(logical[3]);
  } else {
    scale_dims[2] = blocks(logical[2]);
    scale_dims[3] = up(logical[3], tile_rows);
  }
  const graph::Uid scale = g.tensor(scale_role, DataType::fp8_e8m0, scale_dims, packed_strides(scale_dims));
  if (axis == BlockAxis::seqlen_spread) {
    const int64_t b = scale_dims[0], h = scale_dims[1], plane = scale_dims[2] * tile_rows;
    g.at(scale).strides = {h * plane, plane, b * h * plane, 1};
  }
  if (is_transposed) transposed(g, scale);
  g.at(scale).reordering = graph::Reordering::F8_128x4;
  return scale;
}

graph::Uid dequantize(GraphBuilder& g, graph::Uid x, Role scale_role, BlockAxis axis, bool is_transposed) {
  const graph::Uid scale = add_block_scales(g, x, scale_role, axis, is_transposed);
  const Dims dims = g.at(x).dims, strides = g.at(x).strides;
  constexpr std::string_view descale = "descale";
  const std::string name = "dequantized" + std::string(graph::display_name(scale_role).substr(descale.size()));
  graph::BlockScaleDequantize op;
  op.x = x;
  op.scale = scale;
  op.y = g.virtual_tensor(name, DataType::f32, dims, strides);
  op.block_size = {1, block};
  g.add(op);
  return op.y;
}

graph::Uid add_output_gradient(GraphBuilder& g, const AttentionSpec& spec, Role role, DataType type,
                               std::optional<graph::Uid> offset) {
  const graph::Uid d_o = g.tensor(role, type, output_dims(spec), as_dims(d_o_strides(spec)));
  return with_offset_like(g, spec, d_o, Role::offsets_d_o, offset, o_strides(spec));
}

graph::Uid add_gradient(GraphBuilder& g, const AttentionSpec& spec, Role role, const RaggedOffsets& offsets) {
  struct Kind {
    Dims dims, strides;
    Role offsets;
    std::optional<graph::Uid> offset;
    attention::Strides like;
  };
  const Dims q{spec.batch, spec.heads_q, spec.seqlen_q, spec.head_dim_qk};
  const Dims k{spec.batch, spec.heads_kv, spec.seqlen_kv, spec.head_dim_qk};
  const Dims v{spec.batch, heads_v(spec), spec.seqlen_kv, spec.head_dim_v};
  const Kind kind = role == Role::dq ? Kind{q, as_dims(dq_strides(spec)), Role::offsets_dq, offsets.q, q_strides(spec)}
                    : role == Role::dk
                        ? Kind{k, as_dims(dk_strides(spec)), Role::offsets_dk, offsets.k, k_strides(spec)}
                        : Kind{v, as_dims(dv_strides(spec)), Role::offsets_dv, offsets.v, v_strides(spec)};
  const graph::Uid gradient = g.tensor(role, gradient_type(spec), kind.dims, kind.strides);
  return with_offset_like(g, spec, gradient, kind.offsets, kind.offset, kind.like);
}

graph::Uid transpose_scores(GraphBuilder& g, const AttentionSpec& spec, graph::Uid scores, DataType type) {
  const Dims dims = score_dims(spec), strides = packed_strides(dims);
  return g.reshape(
      scores, g.virtual_tensor("", type, {dims[0], dims[1], dims[3], dims[2]}, {strides[0], strides[1], 1, dims[3]}));
}

void add_sink_gradient(GraphBuilder& g, const AttentionSpec& spec, graph::Uid stats, graph::Uid sums) {
  const graph::Uid sink = add_head_tensor(g, spec, Role::sink), d_sink = add_head_tensor(g, spec, Role::d_sink);
  const graph::Uid shifted = g.pointwise(graph::PointwiseMode::SUB, sink, stats,
                                         {.into = g.virtual_tensor("", DataType::f32, row_dims(spec))});
  g.reduce(graph::ReductionOperator::ADD, multiply(g, g.pointwise(graph::PointwiseMode::EXP, shifted), sums), d_sink);
}

graph::Uid matmul_over_heads(GraphBuilder& g, graph::Uid a, graph::Uid b, graph::Uid c, std::optional<graph::Uid> m,
                             std::optional<graph::Uid> k, const HeadSum& sum) {
  const int64_t heads = g.at(a).dims[1], kept = g.at(c).dims[1];
  if (heads == kept) return g.matmul(a, b, c, m, {}, k);
  Dims dims = g.at(c).dims, strides = g.at(c).strides;
  dims[1] = heads;
  graph::Uid full = 0;
  if (sum.full_in_memory) {
    // Like C, but with every head of a token; the ragged offset is C's, with an implied multiplier.
    strides[0] *= heads / kept;
    strides[2] *= heads / kept;
    full = with_offset(g, g.tensor(Role::all_heads, sum.full_type, dims, strides), g.at(c).ragged_offset);
  } else {
    full = g.virtual_tensor(Role::all_heads, sum.full_type, dims);
  }
  g.matmul(a, b, full, m, {}, k);
  return g.reduce(graph::ReductionOperator::ADD, full, c);
}

}  // namespace attnprobe::build
