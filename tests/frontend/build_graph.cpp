#include "build_graph.hpp"

#include <array>
#include <map>

namespace frontend {
namespace {

Tensor ragged_offset(const Graph& graph, const std::string& name, const Config& config) {
  return input(graph, name, {config.batch + 1, 1, 1, 1}, {1, 1, 1, 1},
               config.offsets_are_i64 ? fe::DataType_t::INT64 : fe::DataType_t::INT32);
}

int64_t blocks_per_sequence(const Config& config) {
  return (config.seqlen_kv + config.paged->block_size - 1) / config.paged->block_size;
}

// K or V directly, or the container of their blocks.
Tensor key_or_value(const Graph& graph, const Config& config, const std::string& name, const Dims& dims,
                    const Layout& layout, const Tensor& offset, bool is_paged) {
  const auto type = data_type(config.dtype);
  if (is_paged) {
    const Dims container{config.batch * blocks_per_sequence(config), dims[1], config.paged->block_size, dims[3]};
    return input(graph, name, container, strides_of({config.paged->layout, {}}, container), type);
  }
  const Tensor tensor = input(graph, name, dims, strides_of(layout, dims), type);
  if (offset) tensor->set_ragged_offset(offset);
  if (offset) count_tokens(tensor, config);
  return tensor;
}

Tensor page_table(const Graph& graph, const Config& config, const std::string& name) {
  const int64_t blocks = blocks_per_sequence(config);
  const Tensor table = input(graph, name, {config.batch, 1, blocks, 1}, {blocks, blocks, 1, 1}, fe::DataType_t::INT32);
  if (config.paged->packed_table) table->set_ragged_offset(ragged_offset(graph, name + "_offset", config));
  return table;
}

fe::AttentionImplementation_t implementation(const Config& config) {
  if (config.pattern == "sdpa_composite") return fe::AttentionImplementation_t::COMPOSITE;
  if (config.pattern == "sdpa_unified") return fe::AttentionImplementation_t::UNIFIED;
  return fe::AttentionImplementation_t::AUTO;
}

Tensor row_output(const Graph& graph, const Config& config, const Common& common, const std::string& name) {
  const Tensor tensor = graph->tensor(fe::graph::Tensor_attributes().set_name(name).set_output(true));
  shape_as_rows(tensor, config, common);
  return tensor;
}

void set_forward_outputs(const Graph& graph, const Config& config, const Common& common,
                         fe::graph::SDPA_attributes& attributes) {
  attributes.set_generate_stats(config.stats);
  if (config.max_logit) attributes.set_logit_max(row_output(graph, config, common, "max"));
  if (config.sum_exp) attributes.set_score_sum_exp(row_output(graph, config, common, "sum_exp"));
  if (config.dropout && config.dropout->dump) {
    const Tensor dump =
        input(graph, "rng_dump", config.score_dims(), packed_strides(config.score_dims()), fe::DataType_t::FLOAT);
    dump->set_output(true);
    attributes.set_rng_dump(dump);
  }
}

void set_paged(const Graph& graph, const Config& config, fe::graph::SDPA_attributes& attributes) {
  if (!config.paged) return;
  if (config.paged->k) attributes.set_paged_attention_k_table(page_table(graph, config, "page_table_k"));
  if (config.paged->v) attributes.set_paged_attention_v_table(page_table(graph, config, "page_table_v"));
  attributes.set_paged_attention_max_seq_len_kv(static_cast<int>(config.seqlen_kv));
}

void set_block_mask(const Graph& graph, const Config& config, fe::graph::SDPA_attributes& attributes) {
  if (!config.block_mask) return;
  const int64_t tiles_kv = (config.seqlen_kv + 127) / 128;
  const Dims dims{config.batch, config.heads_q, (config.seqlen_q + 127) / 128, (tiles_kv + 7) / 8};
  attributes.set_block_mask(input(graph, "block_mask", dims, packed_strides(dims), fe::DataType_t::UINT8));
}

// Features that only newer releases support.
void set_newer([[maybe_unused]] const Config& config, [[maybe_unused]] const Common& common,
               [[maybe_unused]] fe::graph::SDPA_attributes& attributes) {
  if (config.unfuse_fma) attributes.set_unfuse_fma(true);
#if CUDNN_FRONTEND_VERSION >= 12500
  if (common.cu_seqlen_q) attributes.set_cu_seq_len_q(common.cu_seqlen_q);
  if (common.cu_seqlen_kv) attributes.set_cu_seq_len_kv(common.cu_seqlen_kv);
#else
  if (!config.cu_seqlens.empty()) throw NotExpressible("this release takes no prefix sums of lengths");
#endif
#if CUDNN_FRONTEND_VERSION >= 13000
  if (config.stats_log2) attributes.set_stats_use_log2(true);
#else
  if (config.stats_log2) throw NotExpressible("this release has no statistics to base 2");
#endif
}

Tensor rotated(const Graph& graph, const Config& config, const Tensor& x, const char* name) {
#if CUDNN_FRONTEND_VERSION >= 12400
  const int64_t tokens = x->get_dim()[2], width = config.rope_dim != 0 ? config.rope_dim : x->get_dim()[3];
  const Tensor angles = input(graph, name, {tokens, 1, 1, width}, {width, width, width, 1}, fe::DataType_t::FLOAT);
  const Tensor y = graph->rope(x, angles, fe::graph::RoPE_attributes().set_rope_dim(config.rope_dim));
  y->set_data_type(data_type(config.dtype));
  return y;
#else
  throw NotExpressible("this release has no rotary embedding");
#endif
}

void finish_amax(const Tensor& amax) {
  if (amax) amax->set_output(true).set_dim({1, 1, 1, 1}).set_stride({1, 1, 1, 1}).set_data_type(fe::DataType_t::FLOAT);
}

// {O, statistics}
std::array<Tensor, 2> call_forward(const Graph& graph, const Config& config, const Common& c,
                                   const fe::graph::SDPA_attributes& attributes) {
  if (config.fp8.empty()) return graph->sdpa(c.q, c.k, c.v, attributes);
  if (config.fp8 == "mxfp8") {
    auto [o, stats, amax_o] = graph->sdpa_fp8(c.q, c.k, c.v, block_scale(graph, "descale_q", config.q_dims(), false),
                                              block_scale(graph, "descale_k", config.k_dims(), false),
                                              block_scale(graph, "descale_v", config.v_dims(), true), attributes);
    finish_amax(amax_o);
    return {o, stats};
  }
  auto scalar = [&](const char* name) { return scalar_input(graph, name, fe::DataType_t::FLOAT); };
  // As in cudnn-frontend's samples: with current scaling the output has no scale, and that of S is fixed.
  const bool current = config.fp8 == "current";
  auto [o, stats, amax_s, amax_o] =
      graph->sdpa_fp8(c.q, c.k, c.v, scalar("descale_q"), scalar("descale_k"), scalar("descale_v"), scalar("descale_s"),
                      current ? graph->tensor(448.0F) : scalar("scale_s"),
                      current ? graph->tensor(1.0F) : scalar("scale_o"), attributes);
  finish_amax(amax_s);
  finish_amax(amax_o);
  return {o, stats};
}

}  // namespace

fe::DataType_t data_type(const std::string& name) {
  static const std::map<std::string, fe::DataType_t> types{
      {"f16", fe::DataType_t::HALF},          {"bf16", fe::DataType_t::BFLOAT16},     {"f32", fe::DataType_t::FLOAT},
      {"fp8_e4m3", fe::DataType_t::FP8_E4M3}, {"fp8_e5m2", fe::DataType_t::FP8_E5M2},
  };
  const auto found = types.find(name);
  if (found == types.end()) throw NotExpressible("data type " + name);
  return found->second;
}

Tensor input(const Graph& graph, const std::string& name, const Dims& dims, const Dims& strides, fe::DataType_t type) {
  return graph->tensor(
      fe::graph::Tensor_attributes().set_name(name).set_dim(dims).set_stride(strides).set_data_type(type));
}

Tensor scalar_input(const Graph& graph, const std::string& name, fe::DataType_t type) {
  return input(graph, name, {1, 1, 1, 1}, {1, 1, 1, 1}, type);
}

Tensor block_scale(const Graph& graph, const std::string& name, const Dims& dims, bool along_sequence) {
  auto round_up = [](int64_t value, int64_t step) { return (value + step - 1) / step * step; };
  auto scales = [&](int64_t extent) { return round_up((extent + 31) / 32, 4); };
  const Dims shape{dims[0], dims[1], along_sequence ? scales(dims[2]) : round_up(dims[2], 128),
                   along_sequence ? round_up(dims[3], 128) : scales(dims[3])};
  Dims strides = packed_strides(shape);
  if (along_sequence) strides = {strides[0], strides[1], 1, shape[2]};  // the contracted axis is contiguous
  const Tensor tensor = input(graph, name, shape, strides, fe::DataType_t::FP8_E8M0);
  tensor->set_reordering_type(fe::TensorReordering_t::F8_128x4);
  return tensor;
}

Common common_tensors(const Graph& graph, const Config& config) {
  Common c;
  if (config.q.ragged()) c.q_offset = ragged_offset(graph, "q_offset", config);
  if (config.k.ragged()) c.k_offset = ragged_offset(graph, "k_offset", config);
  if (config.v.ragged()) c.v_offset = ragged_offset(graph, "v_offset", config);
  if (config.o.ragged()) c.o_offset = ragged_offset(graph, "o_offset", config);
  if (config.q.ragged() && config.ragged_stats) c.stats_offset = ragged_offset(graph, "stats_offset", config);
  c.q = input(graph, "q", config.q_dims(), strides_of(config.q, config.q_dims()), data_type(config.dtype));
  if (c.q_offset) c.q->set_ragged_offset(c.q_offset);
  if (c.q_offset) count_tokens(c.q, config);
  const bool paged_k = config.paged && config.paged->k, paged_v = config.paged && config.paged->v;
  c.k = key_or_value(graph, config, "k", config.k_dims(), config.k, c.k_offset, paged_k);
  c.v = key_or_value(graph, config, "v", config.v_dims(), config.v, c.v_offset, paged_v);
  if (config.padding || config.paged) {
    auto lengths = [&](const char* name, int64_t count) {
      return input(graph, name, {count, 1, 1, 1}, {1, 1, 1, 1}, fe::DataType_t::INT32);
    };
    const std::string& sums = config.cu_seqlens;
    if (sums.empty() || sums == "kv") c.seqlen_q = lengths("seqlen_q", config.batch);
    if (sums.empty() || sums == "q") c.seqlen_kv = lengths("seqlen_kv", config.batch);
    if (sums == "q" || sums == "both") c.cu_seqlen_q = lengths("cu_seqlen_q", config.batch + 1);
    if (sums == "kv" || sums == "both") c.cu_seqlen_kv = lengths("cu_seqlen_kv", config.batch + 1);
  }
  if (config.scale_is_tensor) c.scale = scalar_input(graph, "scale", fe::DataType_t::FLOAT);
  if (config.bias)
    c.bias = input(graph, "bias", config.bias_dims(), config.bias->strides.value_or(packed_strides(config.bias_dims())),
                   data_type(config.bias->dtype));
  if (config.sink)
    c.sink = input(graph, "sink", {1, config.heads_q, 1, 1}, {config.heads_q, 1, 1, 1}, fe::DataType_t::FLOAT);
  if (!config.dropout) return c;
  if (config.dropout->form == "mask") {
    c.dropout_mask =
        input(graph, "dropout_mask", config.score_dims(), packed_strides(config.score_dims()), data_type(config.dtype));
    c.dropout_scale = scalar_input(graph, "dropout_scale", fe::DataType_t::FLOAT);
    return c;
  }
  if (config.dropout->seed == "constant")
    throw NotExpressible("sdpa takes the dropout seed as a tensor, not as a constant");
  const auto seed = config.dropout->seed == "i32" ? fe::DataType_t::INT32 : fe::DataType_t::INT64;
  c.seed = scalar_input(graph, "seed", seed);
  c.dropout_offset = scalar_input(graph, "dropout_offset", seed);
  return c;
}

void count_tokens([[maybe_unused]] const Tensor& tensor, const Config& config) {
  if (!config.ragged_tokens) return;
#if CUDNN_FRONTEND_VERSION >= 12500
  tensor->set_ragged_offset_multiplier(tensor->get_stride()[2]);
#else
  throw NotExpressible("this release has no multiplier of ragged offsets");
#endif
}

// Only the statistics have their own layout and type.
void shape_as_statistics(const Tensor& tensor, const Config& config, const Common& common) {
  shape_as_rows(tensor, config, common);
  tensor->set_data_type(data_type(config.stats_dtype));
  if (config.stats_layout) {
    Dims strides = strides_of(*config.stats_layout, {config.batch, config.heads_q, config.seqlen_q, 1});
    if (common.stats_offset && !config.stats_layout->strides && strides[1] > strides[2])
      strides[1] = config.batch * config.seqlen_q * strides[2];  // by head: the tokens of every sequence
    tensor->set_stride(strides);
  }
  if (common.stats_offset) count_tokens(tensor, config);
}

void shape_as_rows(const Tensor& tensor, const Config& config, const Common& common) {
  const int64_t heads = config.heads_q, rows = config.seqlen_q;
  tensor->set_dim({config.batch, heads, rows, 1}).set_data_type(fe::DataType_t::FLOAT);
  if (common.stats_offset) {
    tensor->set_stride({rows * heads, 1, heads, 1});
    tensor->set_ragged_offset(common.stats_offset);
    count_tokens(tensor, config);
  } else {
    tensor->set_stride({heads * rows, rows, 1, 1});
  }
}

void add_forward(const Graph& graph, const Config& config) {
  Common common = common_tensors(graph, config);
  if (config.rope_q) common.q = rotated(graph, config, common.q, "angles_q");
  if (config.rope_k) common.k = rotated(graph, config, common.k, "angles_k");
  fe::graph::SDPA_attributes attributes;
  attributes.set_name("attention").set_implementation(implementation(config));
  set_mask_and_scale(attributes, config, common);
  attributes.set_alibi_mask(config.alibi);
  if (common.dropout_mask) attributes.set_dropout(common.dropout_mask, common.dropout_scale);
  if (config.modified()) attributes.set_score_mod(score_modifiers(graph, config).forward);
  set_block_mask(graph, config, attributes);
  set_paged(graph, config, attributes);
  set_forward_outputs(graph, config, common, attributes);
  set_newer(config, common, attributes);
  const auto [o, stats] = call_forward(graph, config, common, attributes);
  o->set_output(true)
      .set_dim(config.o_dims())
      .set_stride(strides_of(config.o, config.o_dims()))
      .set_data_type(data_type(config.o_dtype));
  if (common.o_offset) o->set_ragged_offset(common.o_offset);
  if (common.o_offset) count_tokens(o, config);
  if (stats) {
    stats->set_output(true);
    shape_as_statistics(stats, config, common);
  }
}

void add_attention(const Graph& graph, const Config& config) {
  if (config.dynamic_shapes) graph->set_dynamic_shape_enabled(true);
  if (config.override_shapes) graph->set_override_shape_enabled(true);
  if (config.pattern == "mha" || config.pattern == "two_matmul")
    throw NotExpressible("cudnn-frontend has no node for pattern " + config.pattern);
  if (!config.backward()) return add_forward(graph, config);
  if (config.pattern == "sdpa_unified") throw NotExpressible("there is no unified backward pass");
  if (config.paged) throw NotExpressible("the backward pass takes no page table");
  if (config.block_mask) throw NotExpressible("the backward pass takes no block mask");
  if (config.fp8.empty()) return add_backward(graph, config);
  add_fp8_backward(graph, config);
}

}  // namespace frontend
