// Distributions like those of cudnn-frontend's random SDPA tests (test/python/test_mhas_v2.py and sdpa/), extended to
// all features of a config.
#include "attention/random_config.hpp"

#include <string>
#include <utility>
#include <vector>

#include "attention/random_draw.hpp"

namespace attnprobe::attention {
namespace {

using Words = std::vector<std::pair<std::string, int64_t>>;

class RandomConfig {
 public:
  explicit RandomConfig(uint64_t seed) : draw_(seed) {}

  Json make() {
    choose_kind();
    choose_types();
    choose_lengths();
    choose_heads();
    choose_head_dims();
    choose_layout();
    choose_paged();
    choose_scale();
    choose_score_features();
    choose_mask();
    choose_dropout();
    choose_outputs();
    return std::move(config_);
  }

 private:
  void choose_kind() {
    const auto pattern = draw_.weighted<std::string>({{"sdpa", 86}, {"sdpa_composite", 9}, {"sdpa_unified", 5}});
    unified_ = pattern == "sdpa_unified";
    composite_ = pattern == "sdpa_composite";
    const int64_t backward_weight = unified_ ? 0 : 35;  // there is no unified backward pass
    const auto pass = draw_.weighted<std::string>({{"fprop", 40}, {"fprop_train", 25}, {"bprop", backward_weight}});
    backward_ = pass == "bprop";
    config_["pattern"] = pattern;
    config_["pass"] = pass;
  }

  void choose_types() {
    const int64_t fp8_weight = unified_ ? 0 : 12;
    const auto family = draw_.weighted<std::string>({{"f16", 36}, {"bf16", 48}, {"f32", 4}, {"fp8", fp8_weight}});
    fp8_ = family == "fp8";
    const std::string dtype = !fp8_ ? family : draw_.chance(85) ? "fp8_e4m3" : "fp8_e5m2";
    config_["dtype"] = dtype;
    if (fp8_) {
      const auto scaling = draw_.weighted<std::string>({{"delayed", 50}, {"current", 42}, {"mxfp8", 8}});
      config_["fp8"] = scaling;
      if (scaling != "delayed") config_["o_dtype"] = draw_.chance(70) ? "bf16" : "f16";
      return;
    }
    const std::vector<std::string> outputs{"f16", "bf16", "f32"};
    if (draw_.chance(4)) config_["o_dtype"] = draw_.one_of(outputs);
    if (backward_ && draw_.chance(2)) config_["do_dtype"] = draw_.one_of(outputs);
    if (backward_ && draw_.chance(3)) config_["dqkv_dtype"] = draw_.one_of(outputs);
  }

  int64_t length() {
    if (draw_.chance(55)) return draw_.one_of<int64_t>({64, 128, 256, 512, 1024, 2048, 4096});
    return draw_.between(1, draw_.chance(80) ? 1024 : 4096);
  }

  void choose_lengths() {
    config_["batch"] = draw_.chance(50) ? draw_.one_of<int64_t>({1, 4}) : draw_.between(1, backward_ ? 16 : 8);
    const int64_t decode_weight = backward_ ? 2 : 15;
    const auto relation = draw_.weighted<std::string>({{"decode", decode_weight}, {"equal", 45}, {"free", 40}});
    seqlen_kv_ = length();
    seqlen_q_ = relation == "decode" ? 1 : relation == "equal" ? seqlen_kv_ : length();
    config_["seqlen_q"] = seqlen_q_;
    config_["seqlen_kv"] = seqlen_kv_;
  }

  void choose_heads() {
    const auto kind = draw_.weighted<std::string>({{"mha", 35}, {"gqa", 45}, {"mqa", 12}, {"misfit", 3}});
    heads_kv_ = kind == "mqa" ? 1 : draw_.between(1, 8);
    heads_q_ = kind == "mha" ? heads_kv_ : heads_kv_ * draw_.between(2, 8);
    if (kind == "misfit") heads_q_ = heads_kv_ * 2 + 1;  // with one key head, any number of query heads is valid
    heads_v_ = heads_kv_;
    if (draw_.chance(3) && heads_q_ % 2 == 0) heads_v_ = heads_q_ / 2;
    config_["heads_q"] = heads_q_;
    config_["heads_kv"] = heads_kv_;
    if (heads_v_ != heads_kv_) config_["heads_v"] = heads_v_;
  }

  void choose_head_dims() {
    using Pair = std::pair<int64_t, int64_t>;
    const int64_t step = fp8_ ? 16 : 8, most = (backward_ || fp8_ ? 192 : 256) / step;
    const auto kind =
        draw_.weighted<std::string>({{"usual", 55}, {"equal", 27}, {"free", 11}, {"large", 3}, {"odd", 4}});
    Pair dims{step * draw_.between(1, most), step * draw_.between(1, most)};
    if (kind == "usual")
      dims = draw_.weighted<Pair>(
          {{{64, 64}, 30}, {{128, 128}, 45}, {{192, 128}, 12}, {{256, 256}, fp8_ ? 1 : 8}, {{96, 96}, 5}});
    if (kind == "equal") dims.second = dims.first;
    if (kind == "large") dims.first = dims.second = step * draw_.between(256 / step, 512 / step);
    if (kind == "odd") dims = {draw_.between(1, 256), draw_.between(1, 256)};
    head_dim_qk_ = dims.first;
    head_dim_v_ = dims.second;
    config_["head_dim_qk"] = head_dim_qk_;
    config_["head_dim_v"] = head_dim_v_;
  }

  bool interleaves_kv() const { return head_dim_qk_ == head_dim_v_ && heads_kv_ == heads_v_; }
  bool interleaves_qkv() const { return interleaves_kv() && heads_q_ == heads_kv_ && seqlen_q_ == seqlen_kv_; }

  std::string named_layout() {
    const int64_t qkv = interleaves_qkv() ? 12 : 0, kv = interleaves_kv() ? 8 : 0;
    if (ragged_)
      return draw_.weighted<std::string>(
          {{"thd", 60}, {"t3hd", qkv}, {"thd_t2hd", kv}, {"th3d", qkv / 2}, {"thd_bshd_bshd", 8}});
    return draw_.weighted<std::string>({{"bshd", 38},
                                        {"bhsd", 22},
                                        {"sbhd", 14},
                                        {"bs3hd", qkv},
                                        {"sb3hd", qkv / 3},
                                        {"bsh3d", qkv / 3},
                                        {"bshd_bs2hd", kv},
                                        {"sbhd_sbh2d", kv / 3},
                                        {"bshd_bhsd_bhsd", 4},
                                        {"sbhd_bshd_bshd", 3}});
  }

  // Batch, heads and tokens in any order, with gaps that keep 16-byte alignment.
  Json strides(int64_t heads, int64_t seqlen, int64_t head_dim) {
    const int64_t extents[] = {config_["batch"].get<int64_t>(), heads, seqlen};
    const std::vector<size_t> order =
        draw_.one_of<std::vector<size_t>>({{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}});
    std::vector<int64_t> result(4, 1);
    int64_t step = head_dim + 16 * draw_.between(0, 2);
    for (size_t i = order.size(); i-- > 0;) {
      result[order[i]] = step;
      step *= extents[order[i]] + (draw_.chance(30) ? draw_.between(1, 8) : 0);
    }
    return {{"strides", result}};
  }

  void choose_layout() {
    ragged_ = draw_.chance(12);
    if (!ragged_ && draw_.chance(7)) {
      config_["layout"] = {{"q", strides(heads_q_, seqlen_q_, head_dim_qk_)},
                           {"k", strides(heads_kv_, seqlen_kv_, head_dim_qk_)},
                           {"v", strides(heads_v_, seqlen_kv_, head_dim_v_)},
                           {"o", strides(heads_q_, seqlen_q_, head_dim_v_)}};
    } else if (const auto name = named_layout(); name != "bshd" || draw_.chance(50)) {
      config_["layout"] = name;
      splits_kv_ = name == "bshd" || name == "bhsd" || name == "sbhd" || name == "thd_bshd_bshd";
    }
    choose_ragged();
    if (ragged_) return;
    const std::vector<std::string> plain{"bshd", "bhsd", "sbhd"};
    const bool o_is_given = config_.contains("layout") && config_["layout"].is_object();
    if (!o_is_given && draw_.chance(8)) config_["o_layout"] = draw_.one_of(plain);
    if (backward_ && draw_.chance(6)) config_["do_layout"] = draw_.one_of(plain);
    if (backward_ && draw_.chance(12)) config_["dqkv_layout"] = draw_.one_of(plain);
  }

  void choose_ragged() {
    if (!ragged_) return;
    if (draw_.chance(15)) config_["ragged_offsets"] = "i64";
    if (draw_.chance(25)) config_["ragged_stats"] = false;
    if (!backward_ || draw_.chance(50)) return;
    const int64_t batch = config_["batch"];
    config_["max_total_seqlen_q"] = draw_.between(1, batch * seqlen_q_);
    if (draw_.chance(90)) config_["max_total_seqlen_kv"] = draw_.between(1, batch * seqlen_kv_);
  }

  void choose_paged() {
    paged_ = !backward_ && splits_kv_ && draw_.chance(seqlen_q_ == 1 ? 25 : 7);
    if (!paged_) return;
    Json paged = {{"block_size", int64_t{1} << draw_.between(0, 8)}};
    if (draw_.chance(3)) paged["block_size"] = 48;
    if (draw_.chance(12)) paged[draw_.chance(50) ? "k" : "v"] = false;
    if (draw_.chance(25)) paged["layout"] = "bshd";
    if (draw_.chance(12)) paged["packed_table"] = true;
    config_["paged"] = paged;
  }

  void choose_scale() {
    if (draw_.chance(30)) config_["scale"] = 0.125;
    if (draw_.chance(5)) config_["scale"] = "tensor";
    if (draw_.chance(3)) config_["scale"] = "none";
  }

  // Operations between the scale and the masks. Rarely more than one: cudnn-frontend refuses most pairs.
  void choose_score_features() {
    if (fp8_) {
      if (draw_.chance(1)) config_["softcap"] = 30;
      if (draw_.chance(12)) config_["sink"] = true;
      return;
    }
    const auto feature = draw_.weighted<std::string>({{"none", 68},
                                                      {"bias", 11},
                                                      {"alibi", 5},
                                                      {"softcap", 5},
                                                      {"score_mod", 8},
                                                      {"block_mask", composite_ || backward_ ? 0 : 3}});
    modified_ = feature == "softcap" || feature == "score_mod";
    alibi_ = feature == "alibi";
    if (feature == "bias" || draw_.chance(1)) config_["bias"] = bias();
    if (feature == "alibi" || feature == "block_mask") config_[feature] = true;
    if (feature == "softcap") config_["softcap"] = draw_.one_of<int64_t>({20, 30, 50});
    if (feature == "score_mod") config_["score_mod"] = score_mod();
    if (draw_.chance(seqlen_q_ == 1 ? 2 : 8)) config_["sink"] = true;
    bare_ = feature == "block_mask" && draw_.chance(75);
  }

  Json bias() {
    std::string shape = draw_.one_of<std::string>({"bhss", "1hss", "b1ss", "11ss", "b11s"});
    if (draw_.chance(15))  // any of the sixteen combinations
      for (size_t i = 0; i < shape.size(); ++i) shape[i] = draw_.chance(50) ? '1' : "bhss"[i];
    Json bias = {{"shape", shape}};
    if (draw_.chance(10)) bias["dtype"] = draw_.one_of<std::string>({"f16", "bf16", "f32"});
    if (backward_ && draw_.chance(60)) bias["grad"] = true;
    if (bias.size() == 1) return shape;
    return bias;
  }

  Json score_mod() {
    const std::vector<std::string> kinds{"causal",       "arrow",   "document", "relative_position",
                                         "head_factor",  "relu",    "tanh",     "sigmoid",
                                         "gelu",         "swish",   "abs",      "sqrt",
                                         "sin",          "exp",     "pow",      "max",
                                         "score_factor", "mask_i32"};
    std::string kind = draw_.one_of(kinds);
    if (draw_.between(1, 300) == 1) kind = draw_.chance(50) ? "mask_boolean" : "mask_i8";  // these crash cuDNN 9.19
    if (backward_ && draw_.chance(25)) return {{"kind", kind}, {"grad", false}};
    return kind;
  }

  void choose_mask() {
    // cudnn-frontend accepts no mask together with a score modifier.
    const bool plain = bare_ || (modified_ && draw_.chance(80));
    const bool padding = (paged_ || ragged_) ? draw_.chance(94) : !plain && draw_.chance(28);
    Json mask = Json::object();
    const auto diagonal =
        plain ? "none"
        : alibi_ && draw_.chance(85)
            ? "causal"
            : draw_.weighted<std::string>(
                  {{"none", 42}, {"causal", 30}, {"left", 4}, {"left_causal", 10}, {"right", 5}, {"band", 9}});
    const int64_t most = seqlen_kv_ / 2;
    if (diagonal == "causal" || diagonal == "left_causal") mask["window_right"] = 0;
    if (diagonal == "left" || diagonal == "left_causal" || diagonal == "band")
      mask["window_left"] = draw_.between(0, most);
    if (diagonal == "right" || diagonal == "band") mask["window_right"] = draw_.between(1, most + 1);
    if (diagonal != "none" && draw_.chance(35)) mask["alignment"] = "bottom_right";
    if (padding) mask["padding"] = true;
    if (!mask.empty()) config_["mask"] = mask;
  }

  void choose_dropout() {
    if (bare_ || !draw_.chance(fp8_ || unified_ ? 4 : 10)) return;
    const double probability = draw_.one_of<double>({0.1, 0.2, 0.5});
    Json dropout = {{"probability", probability}};
    if (draw_.chance(25) && !unified_) {  // the unified operation accepts no mask from the caller
      dropout["form"] = "mask";
    } else {
      if (draw_.chance(15)) dropout["seed"] = "i32";
      if (draw_.chance(12)) dropout["dump"] = true;
    }
    config_["dropout"] = dropout.size() == 1 ? Json(probability) : dropout;
  }

  void choose_outputs() {
    if (backward_) {
      if (draw_.chance(16)) config_["deterministic"] = true;
      return;
    }
    if (config_["pass"] == "fprop" && draw_.chance(4)) config_["stats"] = true;
    const auto extra = draw_.weighted<std::string>({{"none", 91}, {"both", 6}, {"max", 2}, {"sum", 1}});
    if (extra == "both" || extra == "max") config_["max_logit"] = true;
    if (extra == "both" || extra == "sum") config_["sum_exp"] = true;
  }

  Draw draw_;
  Json config_ = Json::object();
  bool unified_ = false, composite_ = false, backward_ = false, fp8_ = false, ragged_ = false, paged_ = false;
  bool modified_ = false, alibi_ = false;
  bool bare_ = false;      // no mask, no dropout: the unified operation accepts neither with a block mask
  bool splits_kv_ = true;  // K and V are separate tensors, so each can be paged
  int64_t seqlen_q_ = 0, seqlen_kv_ = 0, heads_q_ = 0, heads_kv_ = 0, heads_v_ = 0;
  int64_t head_dim_qk_ = 0, head_dim_v_ = 0;
};

// Drawn last, so that a seed's other fields do not change.
class NewerFeatures {
 public:
  NewerFeatures(uint64_t seed, Json config) : draw_(seed * 2654435761U + 1), config_(std::move(config)) {}

  Json lay_over() {
    const std::string pattern = config_["pattern"];
    backward_ = config_["pass"] == "bprop";
    composite_ = pattern == "sdpa_composite" || (pattern == "sdpa" && backward_);
    has_stats_ = backward_ || config_["pass"] == "fprop_train" || config_.value("stats", false);
    choose_lengths();
    choose_statistics();
    choose_others();
    return std::move(config_);
  }

 private:
  bool draws_its_mask() const {
    return config_.contains("dropout") && config_["dropout"].is_object() && config_["dropout"].contains("form");
  }

  void choose_lengths() {
    if (composite_ || draws_its_mask()) return;
    const bool padded = config_.contains("paged") || (config_.contains("mask") && config_["mask"].contains("padding"));
    const Json layout = config_.value("layout", Json("bshd"));
    const bool ragged = layout.is_string() && layout.get<std::string>().find('t') == 0;
    if (padded && draw_.chance(40))
      config_["cu_seqlens"] = draw_.weighted<std::string>({{"both", 60}, {"q", 20}, {"kv", 20}});
    if (ragged && draw_.chance(40)) config_["ragged_unit"] = "token";
  }

  void choose_statistics() {
    if (!has_stats_) return;
    if (!backward_ && draw_.chance(8)) config_["stats_log2"] = true;
    if (draw_.chance(8)) config_["stats_layout"] = draw_.one_of<std::string>({"bshd", "bhsd", "sbhd"});
    if (draw_.chance(2) && !backward_) config_["stats_dtype"] = draw_.one_of<std::string>({"f32", "f16", "bf16"});
  }

  void choose_others() {
    if (backward_) {
      const bool fp8 = config_["dtype"].get<std::string>().starts_with("fp8");
      if (config_.value("deterministic", false) && !fp8 && draw_.chance(40)) config_["ordered_dq"] = true;
    } else if (config_["pattern"] == "sdpa_unified" && draw_.chance(15)) {
      config_["unfuse_fma"] = true;
    }
    if (draw_.chance(3))
      config_["override_shapes"] = true;
    else if (draw_.chance(3))
      config_["dynamic_shapes"] = true;
  }

  Draw draw_;
  Json config_;
  bool backward_ = false, composite_ = false, has_stats_ = false;
};

}  // namespace

Json random_config(uint64_t seed) {
  Json config = RandomConfig(seed).make();
  vary_tensors(seed, config);
  return config;
}

Json random_newer_config(uint64_t seed) {
  return NewerFeatures(seed, random_config(seed)).lay_over();
}

}  // namespace attnprobe::attention
