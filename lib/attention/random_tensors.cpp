// Unusual tensors from callers: explicit strides with gaps, expanded or transposed; types and layouts of optional
// tensors. Drawn separately, so that a seed's other fields do not change.
#include <algorithm>
#include <array>
#include <string>

#include "attention/layout.hpp"
#include "attention/random_draw.hpp"

namespace attnprobe::attention {
namespace {

class TensorVariation {
 public:
  TensorVariation(uint64_t seed, Json& config) : draw_(seed * 0x9E3779B97F4A7C15U + 2), config_(config) {
    backward_ = config["pass"] == "bprop";
    fp8_ = config["dtype"].get<std::string>().starts_with("fp8");
    has_stats_ = backward_ || config["pass"] == "fprop_train" || config.value("stats", false);
    const Json layout = config.value("layout", Json("bshd"));
    ragged_ = layout.is_string() && layout.get<std::string>().starts_with('t');
    batch_ = config["batch"];
    heads_q_ = config["heads_q"];
    seqlen_q_ = config["seqlen_q"];
    seqlen_kv_ = config["seqlen_kv"];
    head_dim_qk_ = config["head_dim_qk"];
    head_dim_v_ = config["head_dim_v"];
  }

  void vary() {
    vary_bias();
    vary_statistics();
    vary_types();
    if (ragged_)
      vary_ragged();
    else
      vary_layouts();
  }

 private:
  using Extents = std::array<int64_t, 4>;

  // Any axis order with head_dim innermost, and gaps that are multiples of `grain` elements.
  Strides with_gaps(const Extents& extents, int64_t grain) {
    const std::vector<size_t> order =
        draw_.one_of<std::vector<size_t>>({{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}});
    Strides strides{0, 0, 0, 1};
    int64_t step = (extents[3] + grain - 1) / grain * grain + grain * draw_.between(0, 2);
    for (size_t i = order.size(); i-- > 0;) {
      strides[order[i]] = step;
      step *= extents[order[i]] + (draw_.chance(30) ? draw_.between(1, 8) : 0);
    }
    return strides;
  }

  // Usually 16 bytes, which cuDNN and cudnn-frontend require; sometimes any number of elements.
  int64_t grain() { return draw_.chance(75) ? 16 : 1; }

  Strides of_attention(const Extents& extents) {
    Strides strides = with_gaps(extents, grain());
    if (draw_.chance(8))  // a type that attention tensors do not support
      for (int64_t& stride : strides) stride *= 2;
    return strides;
  }

  Strides of_bias(const Extents& extents) {
    const auto kind =
        draw_.weighted<std::string>({{"gaps", 40}, {"expanded", 30}, {"transposed", 20}, {"stepped", 10}});
    Strides strides = with_gaps(extents, grain());
    if (kind == "expanded") strides[static_cast<size_t>(draw_.between(0, 3))] = 0;
    if (kind == "transposed") {  // queries are innermost
      strides = with_gaps({extents[0], extents[1], extents[3], extents[2]}, grain());
      std::swap(strides[2], strides[3]);
    }
    if (kind == "stepped")
      for (int64_t& stride : strides) stride *= 2;
    return strides;
  }

  void vary_bias() {
    if (!config_.contains("bias")) return;
    Json& bias = config_["bias"];
    if (bias.is_string()) bias = {{"shape", bias}};
    const std::string shape = bias["shape"];
    Extents extents{batch_, heads_q_, seqlen_q_, seqlen_kv_};
    for (size_t i = 0; i < extents.size(); ++i)
      if (shape[i] == '1') extents[i] = 1;
    if (draw_.chance(50)) bias["strides"] = of_bias(extents);
    if (draw_.chance(25)) bias["dtype"] = draw_.one_of<std::string>({"f16", "bf16", "f32"});
  }

  void vary_statistics() {
    if (!has_stats_) return;
    if (draw_.chance(6)) {
      Strides strides = with_gaps({batch_, heads_q_, ragged_ ? batch_ * seqlen_q_ : seqlen_q_, 1}, 1);
      if (draw_.chance(10)) strides[3] = 2;
      config_["stats_layout"] = {{"strides", strides}};
    }
    // In bprop the tensor is an input, and 8 bits are too coarse for a gradient.
    if (draw_.chance(3) && config_.value("pass", "fprop") != "bprop")
      config_["stats_dtype"] = draw_.one_of<std::string>({"f16", "bf16"});
  }

  void vary_types() {
    const std::vector<std::string> types = fp8_ ? std::vector<std::string>{"fp8_e4m3", "fp8_e5m2", "f16", "bf16", "f32"}
                                                : std::vector<std::string>{"f16", "bf16", "f32"};
    if (draw_.chance(3)) config_["o_dtype"] = draw_.one_of(types);
    if (!backward_) return;
    for (const char* key : {"do_dtype", "dqkv_dtype"})
      if (draw_.chance(3)) config_[key] = draw_.one_of(types);
  }

  Json one_layout(const Extents& extents) {
    if (draw_.chance(40)) return draw_.one_of<std::string>({"bshd", "bhsd", "sbhd", "hbsd", "shbd"});
    return {{"strides", of_attention(extents)}};
  }
  Json layout_of_q() { return one_layout({batch_, heads_q_, seqlen_q_, head_dim_qk_}); }
  Json layout_of_k() { return one_layout({batch_, config_["heads_kv"], seqlen_kv_, head_dim_qk_}); }
  Json layout_of_v() {
    const int64_t heads = config_.value("heads_v", config_["heads_kv"].get<int64_t>());
    return one_layout({batch_, heads, seqlen_kv_, head_dim_v_});
  }
  Json layout_of_o() { return one_layout({batch_, heads_q_, seqlen_q_, head_dim_v_}); }

  void vary_layouts() {
    if (draw_.chance(4)) config_["layout"] = {{"q", layout_of_q()}, {"k", layout_of_k()}, {"v", layout_of_v()}};
    const Json layout = config_.value("layout", Json());
    if (draw_.chance(5) && !(layout.is_object() && layout.contains("o"))) config_["o_layout"] = layout_of_o();
    if (!backward_) return;
    if (draw_.chance(8)) config_["do_layout"] = layout_of_o();
    if (draw_.chance(8)) config_["dqkv_layout"] = {{"q", layout_of_q()}, {"k", layout_of_k()}, {"v", layout_of_v()}};
  }

  // A token with more elements than its heads need, as in a packed tensor of several tensors. PyTorch's nested tensors
  // have the largest 32-bit number as batch stride.
  Json ragged_layout(int64_t heads, int64_t seqlen, int64_t head_dim) {
    const int64_t head = head_dim + 16 * draw_.between(0, 1), token = heads * head + 16 * draw_.between(0, 4);
    const int64_t batch = draw_.chance(40) ? 2147483647 : seqlen * token;
    return {{"axes", "thd"}, {"strides", {batch, head, token, 1}}};
  }

  void vary_ragged() {
    const Json layout = config_.value("layout", Json("thd"));
    if (layout != "thd" || !draw_.chance(20)) return;
    const int64_t heads_kv = config_["heads_kv"], heads_v = config_.value("heads_v", heads_kv);
    config_["layout"] = {{"q", ragged_layout(heads_q_, seqlen_q_, head_dim_qk_)},
                         {"k", ragged_layout(heads_kv, seqlen_kv_, head_dim_qk_)},
                         {"v", ragged_layout(heads_v, seqlen_kv_, head_dim_v_)},
                         {"o", ragged_layout(heads_q_, seqlen_q_, head_dim_v_)}};
    if (backward_ && draw_.chance(40)) config_["do_layout"] = ragged_layout(heads_q_, seqlen_q_, head_dim_v_);
  }

  Draw draw_;
  Json& config_;
  bool backward_ = false, fp8_ = false, has_stats_ = false, ragged_ = false;
  int64_t batch_ = 0, heads_q_ = 0, seqlen_q_ = 0, seqlen_kv_ = 0, head_dim_qk_ = 0, head_dim_v_ = 0;
};

}  // namespace

void vary_tensors(uint64_t seed, Json& config) {
  TensorVariation(seed, config).vary();
}

}  // namespace attnprobe::attention
