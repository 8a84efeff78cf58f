// Transformer Engine's own rules (nvte_get_fused_attn_backend_v2, after pull request #2964), in attnprobe's words and
// in that call's order. Those about cuDNN before 9.8, which attnprobe does not ask, are left out.
#include <fmt/format.h>

#include "frameworks/transformer_engine/calls.hpp"

namespace attnprobe::frameworks {
namespace {

using Query = TransformerEngineQuery;
using Device = TransformerEngineDevice;

bool is_16_bit(DataType type) {
  return type == DataType::f16 || type == DataType::bf16;
}

class Rules {
 public:
  Rules(const Query& query, const Device& device) : query_(query), device_(device) {}

  std::vector<TransformerEngineRefusal> run() {
    no_if(query_.attn_mask_type == NvteMask::arbitrary, "an arbitrary mask is not a mask type of the call");
    no_if(query_.q_dtype != query_.kv_dtype, "Q and KV must have one data type");
    const bool ragged = ragged_q(query_) || ragged_kv(query_);
    no_if(ragged && !pads(query_), "THD needs one of the padding masks");
    no_if(paged(query_) && !pads(query_), "a paged cache needs one of the padding masks");
    no_if(query_.bias_type == NvteBias::pre_scale_bias, "fused attention has no bias before the scale");
    if (is_16_bit(query_.q_dtype))
      check_f16();
    else if (is_fp8(query_))
      check_fp8();
    else
      no_if(true, fmt::format("no backend for {}: it takes f16, bf16 and fp8", name_of(query_.q_dtype)));
    return refusals_;
  }

 private:
  void no_if(bool broken, const std::string& reason, const std::string& pass = "") {
    if (broken) refusals_.push_back({pass, reason});
  }

  void check_f16() {
    const std::string format = q_format(query_);
    const bool one_format = format == kv_format(query_);
    no_if(ragged_q(query_) && ragged_kv(query_) && device_.sm < 90, "THD needs sm90 or later");
    no_if(device_.cudnn_version <= 91500 && query_.is_training && one_format &&
              (format == "bshd" || format == "sbhd") && query_.max_seqlen_kv % 128 != 0 && query_.cuda_graph &&
              !pads(query_),
          "training under a CUDA graph with max_seqlen_kv not a multiple of 128 and no padding mask needs a cuDNN "
          "after 9.15.0");
    no_if(query_.is_training && ragged_q(query_) && packs_tokens(device_) &&
              query_.softmax_type == NvteSoftmax::learnable && device_.cudnn_version < 92600,
          "THD with a learnable softmax needs cuDNN 9.26", "backward");
  }

  void check_fp8() {
    no_if(query_.return_max_logit, "FP8 has no return_max_logit");
    no_if(q_format(query_) != kv_format(query_), "FP8 needs one format for Q, K and V");
    if (query_.is_training) {
      Query gradients = query_;
      gradients.qkv_layout = query_.dqkv_layout;
      no_if(q_format(gradients) != kv_format(gradients), "FP8 needs one format for dQ, dK and dV", "backward");
    }
    if (ragged_q(query_)) check_fp8_ragged();
    no_if(query_.bias_type == NvteBias::post_scale_bias, "FP8 has no bias");
    no_if(query_.bias_type == NvteBias::alibi, "FP8 has no ALiBi");
    check_recipe(query_.o_dtype, "O", "forward");
    if (query_.is_training) check_recipe(query_.dqkv_dtype, "dQ, dK and dV", "backward");
    no_if(query_.scaling_mode == NvteScaling::mxfp8_1d_scaling && device_.cudnn_version < 92100,
          "MXFP8 needs cuDNN 9.21");
  }

  void check_fp8_ragged() {
    no_if(device_.cudnn_version < 92300, "FP8 with THD needs cuDNN 9.23");
    no_if(device_.sm >= 100 && (query_.head_dim_qk > 128 || query_.head_dim_v > 128),
          "FP8 with THD takes head dimensions up to 128 on sm100 and later");
    if (!query_.is_training) return;
    no_if(device_.sm < 100, "FP8 with THD needs sm100 or later", "backward");
    no_if(query_.softmax_type != NvteSoftmax::vanilla && device_.cudnn_version < 92600,
          "FP8 with THD and a sink needs cuDNN 9.26", "backward");
  }

  void check_recipe(DataType result, const std::string& what, const std::string& pass) {
    const bool fp8 = is_fp8(result);
    const bool tensor = query_.scaling_mode == NvteScaling::delayed_tensor_scaling && (fp8 || is_16_bit(result));
    const bool blocks = query_.scaling_mode == NvteScaling::mxfp8_1d_scaling && is_16_bit(result);
    no_if(!tensor && !blocks,
          fmt::format(
              "no FP8 recipe has scaling_mode {} with {} in {}: there are delayed scaling (fp8), current scaling and "
              "MXFP8 (f16 or bf16)",
              name_of(query_.scaling_mode), what, name_of(result)),
          pass);
  }

  const Query& query_;
  const Device& device_;
  std::vector<TransformerEngineRefusal> refusals_;
};

}  // namespace

std::vector<TransformerEngineRefusal> transformer_engine_refusals(const TransformerEngineQuery& query,
                                                                  const TransformerEngineDevice& device) {
  return Rules(query, device).run();
}

}  // namespace attnprobe::frameworks
