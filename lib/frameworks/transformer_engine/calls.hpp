// Transformer Engine's view of attention: the arguments of nvte_get_fused_attn_backend, the graphs that Transformer
// Engine then passes to cuDNN, and its own rules.
//
// Follows pull request NVIDIA/TransformerEngine#2964 (July 2026), after which that call asks cudnn-frontend with
// an opaque config. Field names, defaults and rules are those of its FusedAttnConfig. "TE" below is Transformer Engine.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention/config.hpp"
#include "base/version.hpp"

namespace attnprobe::frameworks {

enum class NvteMask {
  no_mask,
  padding,
  causal,
  padding_causal,
  causal_bottom_right,
  padding_causal_bottom_right,
  arbitrary,  ///< only in PyTorch dumps: TE does not make the call for this mask
};
ATTNPROBE_ENUM(NvteMask, no_mask, padding, causal, padding_causal, causal_bottom_right, padding_causal_bottom_right,
               arbitrary)
enum class NvteBias { no_bias, pre_scale_bias, post_scale_bias, alibi };
ATTNPROBE_ENUM(NvteBias, no_bias, pre_scale_bias, post_scale_bias, alibi)
enum class NvteSoftmax { vanilla, off_by_one, learnable };
ATTNPROBE_ENUM(NvteSoftmax, vanilla, off_by_one, learnable)
enum class NvteScaling {
  delayed_tensor_scaling,  ///< TE's name for one scale per tensor, including current scaling, and for no scaling
  mxfp8_1d_scaling,
  block_scaling_1d,
  block_scaling_2d,
  nvfp4_1d_scaling,
};
ATTNPROBE_ENUM(NvteScaling, delayed_tensor_scaling, mxfp8_1d_scaling, block_scaling_1d, block_scaling_2d,
               nvfp4_1d_scaling)

/// A note on one field.
struct TransformerEngineNote {
  std::string field;
  std::string value;
  std::string why;
};
ATTNPROBE_JSON(TransformerEngineNote, field, value, why)

/// The cache of a paged layout. Units: tokens per page, pages in total, pages of the longest sequence.
struct NvtePages {
  int64_t page_size = 0, num_pages = 0, max_pages_per_seq = 0;
};

/// One call. Its fields have the names of TE's config attributes.
struct TransformerEngineQuery {
  std::string name;                             ///< "name" of the JSON object, else "te", "te[1]", …
  attention::Origin origin;                     ///< file, and JSON pointer or line
  int64_t times = 1;                            ///< how often a log has this config
  std::string logged_on;                        ///< for a dump: "sm90, cuDNN 9.8.0, Transformer Engine 2.3.0"
  Json given = Json::object();                  ///< the given fields, under the names of the source
  std::vector<TransformerEngineNote> defaults;  ///< absent fields, with their assumed values
  std::vector<TransformerEngineNote> outside;   ///< for a dump: fields that are not in the call

  bool is_training = false;
  int64_t batch_size = 0;
  DataType q_dtype = DataType::bf16, kv_dtype = DataType::bf16, o_dtype = DataType::bf16;
  DataType do_dtype = DataType::bf16, dqkv_dtype = DataType::bf16;  ///< used in training
  NvteScaling scaling_mode = NvteScaling::delayed_tensor_scaling;
  std::string qkv_layout;              ///< NVTE_QKV_Layout in small letters: "bs3hd", "paged_kv_thd_bshd_bshd"
  std::string o_format;                ///< "bshd", "sbhd", "bhsd", "thd"
  std::string do_format, dqkv_layout;  ///< "" except in training
  std::string qkv_scale_inv_format, do_scale_inv_format;  ///< "": not given
  NvteBias bias_type = NvteBias::no_bias;
  std::array<int64_t, 4> bias_dims{};  ///< batch, heads, seqlen_q, seqlen_kv; zeros without a bias tensor
  NvteMask attn_mask_type = NvteMask::no_mask;
  NvteSoftmax softmax_type = NvteSoftmax::vanilla;
  double dropout = 0;
  std::optional<double> attn_scale;
  int64_t num_attn_heads = 0, num_gqa_groups = 0;
  int64_t max_seqlen_q = 0, max_seqlen_kv = 0;
  int64_t num_tokens_q = 0, num_tokens_kv = 0;  ///< of all sequences together; used if ragged
  int64_t head_dim_qk = 0, head_dim_v = 0;
  int64_t window_size_left = -1, window_size_right = -1;  ///< -1: unlimited
  bool bottom_right_diagonal = true;
  bool return_max_logit = false, cuda_graph = false, deterministic = false;
  NvtePages pages_k, pages_v;  ///< used if paged
};

bool ragged_q(const TransformerEngineQuery& query);
bool ragged_kv(const TransformerEngineQuery& query);
bool paged(const TransformerEngineQuery& query);
bool pads(const TransformerEngineQuery& query);    ///< whether the mask is a padding mask
bool causal(const TransformerEngineQuery& query);  ///< … or a top-left causal mask
bool causal_bottom_right(const TransformerEngineQuery& query);
bool is_fp8(const TransformerEngineQuery& query);  ///< by Q's type
/// The format of Q ("bshd") and of K and V.
std::string q_format(const TransformerEngineQuery& query);
std::string kv_format(const TransformerEngineQuery& query);

/// Every NVTE_QKV_Layout, and every NVTE_QKV_Format of one tensor, in small letters without "NVTE_".
const std::vector<std::string>& nvte_layouts();
const std::vector<std::string>& nvte_formats();

/// The calls in `text`: JSON (one object or an array, comments allowed), or text with lines "Running with config={…}".
/// PyTorch's Transformer Engine prints those with NVTE_DEBUG=1 NVTE_DEBUG_LEVEL=2. Equal dumps of one log are merged.
/// Throws Error(usage) naming file, JSON pointer or line, value and what is allowed.
std::vector<TransformerEngineQuery> parse_transformer_engine(std::string_view text, const std::string& file_name);
/// The same for a file, which may be compressed (gzip, xz); "-" is standard input.
std::vector<TransformerEngineQuery> load_transformer_engine(const std::string& path);

/// The inputs of the graphs other than the call.
struct TransformerEngineDevice {
  int sm = 0;                  ///< 90
  CudnnVersion cudnn_version;  ///< 91900
};

/// The graphs of one call on one device, as TE builds them.
struct TransformerEngineGraphs {
  std::optional<attention::AttentionSpec> forward, backward;  ///< none: TE builds no graph; a refusal gives the reason
  std::vector<TransformerEngineNote> changed;                 ///< values that replace a field's value in the graphs
  std::vector<TransformerEngineNote> not_seen;                ///< fields that are in no graph
};
TransformerEngineGraphs transformer_engine_graphs(const TransformerEngineQuery& query,
                                                  const TransformerEngineDevice& device);

/// Whether a fact of lib/rules/transformer-engine holds on this device: "packs_tokens". Throws Error(internal) for an
/// unknown id.
bool has_fact(std::string_view id, const TransformerEngineDevice& device);

/// Whether ragged tensors in the graph have the size of the token count, instead of the longest sequence. Therefore the
/// graphs of ragged calls differ between devices.
bool packs_tokens(const TransformerEngineDevice& device);

/// The call as a flat object, with the keys of the conditions in lib/rules/transformer-engine.
Json describe_call(const TransformerEngineQuery& query, const TransformerEngineDevice& device);

/// Transformer Engine's own rule, checked before cuDNN is asked.
struct TransformerEngineRefusal {
  std::string pass;    ///< "forward", "backward", or "" for both
  std::string reason;  ///< one sentence
};
ATTNPROBE_JSON(TransformerEngineRefusal, pass, reason)

/// All such rules that this call breaks on this device, in TE's order. After them, TE asks cudnn-frontend (rules in
/// rules/framework_rules.hpp) and cuDNN.
std::vector<TransformerEngineRefusal> transformer_engine_refusals(const TransformerEngineQuery& query,
                                                                  const TransformerEngineDevice& device);

}  // namespace attnprobe::frameworks
