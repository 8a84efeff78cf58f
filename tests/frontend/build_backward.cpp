#include <cstdlib>

#include "build_graph.hpp"

namespace frontend {
namespace {

struct BackwardTensors {
  Common common;
  Tensor o, d_o, stats, dropout_scale_inverse;
};

Tensor output_side(const Graph& graph, const Config& config, const std::string& name, const Layout& layout,
                   const std::string& dtype, const Tensor& offset) {
  const Tensor tensor = input(graph, name, config.o_dims(), strides_of(layout, config.o_dims()), data_type(dtype));
  if (offset && layout.ragged()) tensor->set_ragged_offset(offset);
  return tensor;
}

BackwardTensors backward_tensors(const Graph& graph, const Config& config) {
  BackwardTensors t;
  t.common = common_tensors(graph, config);
  t.o = output_side(graph, config, "o", config.o, config.o_dtype, t.common.o_offset);
  t.d_o = output_side(graph, config, "d_o", config.d_o, config.do_dtype, t.common.o_offset);
  t.stats = graph->tensor(fe::graph::Tensor_attributes().set_name("stats"));
  shape_as_statistics(t.stats, config, t.common);
  if (t.common.dropout_mask)
    t.dropout_scale_inverse = scalar_input(graph, "dropout_scale_inverse", fe::DataType_t::FLOAT);
  return t;
}

void finish_gradient(const Tensor& gradient, const Config& config, const Dims& dims, const Layout& layout,
                     const Tensor& offset) {
  gradient->set_output(true)
      .set_dim(dims)
      .set_stride(strides_of(layout, dims))
      .set_data_type(data_type(config.dqkv_dtype));
  if (offset && layout.ragged()) gradient->set_ragged_offset(offset);
}

void finish_gradients(const Config& config, const Common& common, const Tensor& dq, const Tensor& dk,
                      const Tensor& dv) {
  finish_gradient(dq, config, config.q_dims(), config.dq, common.q_offset);
  finish_gradient(dk, config, config.k_dims(), config.dk, common.k_offset);
  finish_gradient(dv, config, config.v_dims(), config.dv, common.v_offset);
}

void finish_amax(const Tensor& amax) {
  amax->set_output(true).set_dim({1, 1, 1, 1}).set_stride({1, 1, 1, 1}).set_data_type(fe::DataType_t::FLOAT);
}

template <typename Attributes>
void set_shared(const Graph& graph, const Config& config, const BackwardTensors& t, Attributes& attributes) {
  attributes.set_name("attention_backward");
  set_mask_and_scale(attributes, config, t.common);
  if (t.common.dropout_mask)
    attributes.set_dropout(t.common.dropout_mask, t.common.dropout_scale, t.dropout_scale_inverse);
  if (config.deterministic) attributes.set_deterministic_algorithm(true);
  if (config.sink) {
    const Tensor dsink =
        input(graph, "dsink", {1, config.heads_q, 1, 1}, {config.heads_q, 1, 1, 1}, fe::DataType_t::FLOAT);
    dsink->set_output(true);
    attributes.set_dsink_token(dsink);
  }
}

void add_mxfp8_backward(const Graph& graph, const Config& config, const BackwardTensors& t,
                        const fe::graph::SDPA_fp8_backward_attributes& attributes) {
  const Common& c = t.common;
  // Each operand in both quantisations: along head_dim and, with _t, along the sequence.
  auto again = [&](const char* name, const Tensor& tensor) {
    return input(graph, name, tensor->get_dim(), tensor->get_stride(), data_type(config.dtype));
  };
  auto scale = [&](const char* name, const Dims& dims, bool along_sequence) {
    return block_scale(graph, name, dims, along_sequence);
  };
  const Tensor d_o_16 = input(graph, "d_o_16", t.o->get_dim(), t.d_o->get_stride(), data_type(config.o_dtype));
  auto [dq, dk, dv, amax_dq, amax_dk, amax_dv] = graph->sdpa_fp8_backward(
      c.q, again("q_t", c.q), c.k, again("k_t", c.k), c.v, t.o, d_o_16, t.d_o, again("d_o_t", t.d_o), t.stats,
      scale("descale_q", config.q_dims(), false), scale("descale_q_t", config.q_dims(), true),
      scale("descale_k", config.k_dims(), false), scale("descale_k_t", config.k_dims(), true),
      scale("descale_v", config.v_dims(), false), scale("descale_d_o", config.o_dims(), false),
      scale("descale_d_o_t", config.o_dims(), true), attributes);
  finish_gradients(config, c, dq, dk, dv);
  for (const Tensor& amax : {amax_dq, amax_dk, amax_dv}) finish_amax(amax);
}

}  // namespace

void add_backward(const Graph& graph, const Config& config) {
  // The only way to request the ordered accumulation of dQ.
  constexpr const char* workspace_limit = "CUDNN_FRONTEND_ATTN_DP_WORKSPACE_LIMIT";
  if (config.ordered_dq)
    setenv(workspace_limit, "0", 1);
  else
    unsetenv(workspace_limit);
  const BackwardTensors t = backward_tensors(graph, config);
  const Common& c = t.common;
  fe::graph::SDPA_backward_attributes attributes;
  set_shared(graph, config, t, attributes);
  attributes.set_alibi_mask(config.alibi);
  if (config.modified()) {
    const Modifiers modifiers = score_modifiers(graph, config);
    attributes.set_score_mod(modifiers.forward);
    if (modifiers.backward) attributes.set_score_mod_bprop(modifiers.backward);
  }
  if (config.max_total_q) attributes.set_max_total_seq_len_q(*config.max_total_q);
  if (config.max_total_kv) attributes.set_max_total_seq_len_kv(*config.max_total_kv);
  if (config.bias && config.bias->grad) {
    const Tensor dbias =
        input(graph, "dbias", config.bias_dims(), packed_strides(config.bias_dims()), data_type(config.bias->dtype));
    dbias->set_output(true);
    attributes.set_dbias(dbias);
  }
  if (config.dropout && config.dropout->dump) {
    const Tensor dump =
        input(graph, "rng_dump", config.score_dims(), packed_strides(config.score_dims()), fe::DataType_t::FLOAT);
    dump->set_output(true);
    attributes.set_rng_dump(dump);
  }
  const auto [dq, dk, dv] = graph->sdpa_backward(c.q, c.k, c.v, t.o, t.d_o, t.stats, attributes);
  finish_gradients(config, c, dq, dk, dv);
}

void add_fp8_backward(const Graph& graph, const Config& config) {
  if (config.alibi) throw NotExpressible("the fp8 backward pass takes no alibi");
  if (config.modified()) throw NotExpressible("the fp8 backward pass takes no score modifier");
  if (config.bias && config.bias->grad) throw NotExpressible("the fp8 backward pass has no bias gradient");
  if (config.max_total_q || config.max_total_kv)
    throw NotExpressible("the fp8 backward pass takes no max_total_seq_len");
  if (config.dropout && config.dropout->dump) throw NotExpressible("the fp8 backward pass has no mask dump");
  const BackwardTensors t = backward_tensors(graph, config);
  const Common& c = t.common;
  fe::graph::SDPA_fp8_backward_attributes attributes;
  set_shared(graph, config, t, attributes);
  if (config.fp8 == "mxfp8") return add_mxfp8_backward(graph, config, t, attributes);
  auto scalar = [&](const char* name) { return scalar_input(graph, name, fe::DataType_t::FLOAT); };
  // As in cudnn-frontend's samples: with current scaling the gradients have no scale, and that of S is fixed.
  const bool current = config.fp8 == "current";
  const Tensor one = current ? graph->tensor(1.0F) : nullptr;
  auto [dq, dk, dv, amax_dq, amax_dk, amax_dv, amax_dp] = graph->sdpa_fp8_backward(
      c.q, c.k, c.v, t.o, t.d_o, t.stats, scalar("descale_q"), scalar("descale_k"), scalar("descale_v"),
      scalar("descale_o"), scalar("descale_d_o"), scalar("descale_s"), scalar("descale_dp"),
      current ? graph->tensor(448.0F) : scalar("scale_s"), current ? one : scalar("scale_dq"),
      current ? one : scalar("scale_dk"), current ? one : scalar("scale_dv"), scalar("scale_dp"), attributes);
  finish_gradients(config, c, dq, dk, dv);
  for (const Tensor& amax : {amax_dq, amax_dk, amax_dv, amax_dp}) finish_amax(amax);
}

}  // namespace frontend
