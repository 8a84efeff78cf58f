// Builds cudnn-frontend graphs for attention configs, only through its public API.
#pragma once

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING  // cuDNN and CUDA by dlopen, so that no CUDA library is linked
#include <cudnn_frontend.h>

#include <functional>
#include <memory>

#include "config.hpp"

namespace frontend {

namespace fe = cudnn_frontend;
using Graph = std::shared_ptr<fe::graph::Graph>;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;
using Modifier = std::function<Tensor(Graph, Tensor)>;

/// Adds the config's attention to `graph`. Without a device, the graph's SM version must be set. Throws NotExpressible,
/// or cudnn-frontend's exceptions.
void add_attention(const Graph& graph, const Config& config);

// Shared by the forward and the backward pass.

fe::DataType_t data_type(const std::string& name);
Tensor input(const Graph& graph, const std::string& name, const Dims& dims, const Dims& strides, fe::DataType_t type);
/// One element in device memory.
Tensor scalar_input(const Graph& graph, const std::string& name, fe::DataType_t type);

/// The tensors around the attention; null if the config has none.
struct Common {
  Tensor q, k, v, q_offset, k_offset, v_offset, o_offset, stats_offset;
  Tensor seqlen_q, seqlen_kv, cu_seqlen_q, cu_seqlen_kv, scale, bias, seed, dropout_offset, dropout_mask, dropout_scale,
      sink;
};
Common common_tensors(const Graph& graph, const Config& config);
/// If offsets count tokens, sets the elements per token of this tensor. Throws NotExpressible for a release without
/// them.
void count_tokens(const Tensor& tensor, const Config& config);
/// Shape {batch, heads_q, seqlen_q, 1}: softmax statistics, maxima, sums.
void shape_as_rows(const Tensor& tensor, const Config& config, const Common& common);
/// The same with the config's layout and type for them.
void shape_as_statistics(const Tensor& tensor, const Config& config, const Common& common);

struct Modifiers {
  Modifier forward, backward;
};
/// score_mod, then softcap; both empty if the config has neither.
Modifiers score_modifiers(const Graph& graph, const Config& config);

void add_forward(const Graph& graph, const Config& config);
void add_backward(const Graph& graph, const Config& config);
void add_fp8_backward(const Graph& graph, const Config& config);

/// Block scales of MXFP8 for `dims`, one per 32 elements along head_dim, or along the sequence.
Tensor block_scale(const Graph& graph, const std::string& name, const Dims& dims, bool along_sequence);

/// Settings that every attributes class of cudnn-frontend has under the same names.
template <typename Attributes>
void set_mask_and_scale(Attributes& attributes, const Config& config, const Common& common) {
  if (config.scale) attributes.set_attn_scale(static_cast<float>(*config.scale));
  if (common.scale) attributes.set_attn_scale(common.scale);
  if (common.bias) attributes.set_bias(common.bias);
  attributes.set_padding_mask(config.padding);
  if (common.seqlen_q) attributes.set_seq_len_q(common.seqlen_q);
  if (common.seqlen_kv) attributes.set_seq_len_kv(common.seqlen_kv);
  attributes.set_diagonal_alignment(config.bottom_right ? fe::DiagonalAlignment_t::BOTTOM_RIGHT
                                                        : fe::DiagonalAlignment_t::TOP_LEFT);
  // cudnn-frontend's left bound is exclusive, attnprobe's window_left inclusive.
  if (config.window_left) attributes.set_diagonal_band_left_bound(static_cast<int>(*config.window_left) + 1);
  if (config.window_right) attributes.set_diagonal_band_right_bound(static_cast<int>(*config.window_right));
  if (common.sink) attributes.set_sink_token(common.sink);
  if (common.seed)
    attributes.set_dropout(static_cast<float>(config.dropout->probability), common.seed, common.dropout_offset);
}

}  // namespace frontend
