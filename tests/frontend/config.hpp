// One attention config in attnprobe's normalised form (docs/config.md), read without attnprobe's own code, so that an
// error in attnprobe's code becomes a difference.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cudnn_frontend/thirdparty/nlohmann/json.hpp"

namespace frontend {

using Json = nlohmann::json;
using Dims = std::vector<int64_t>;

/// cudnn-frontend's public API cannot express this config.
struct NotExpressible : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Axes such as "bshd", outermost first, or strides {b, h, s, d}.
struct Layout {
  std::string axes;
  std::optional<Dims> strides;

  bool ragged() const { return axes.find('t') != std::string::npos; }
};

/// The strides of `layout` for the extents {b, h, s, d}. A digit is the number of interleaved tensors; t means bs.
Dims strides_of(const Layout& layout, const Dims& dims);
/// Row-major.
Dims packed_strides(const Dims& dims);

struct Bias {
  std::string shape, dtype;
  std::optional<Dims> strides;  ///< none: row-major
  bool grad = false;
};

struct ScoreModifier {
  std::string kind;
  bool grad = true;
};

struct Dropout {
  double probability = 0;
  std::string form = "philox", seed = "i64";
  bool dump = false;
};

struct Paged {
  int64_t block_size = 64;
  bool k = true, v = true, packed_table = false;
  std::string layout = "bhsd";
};

struct Config {
  std::string name, pattern, pass;
  int64_t batch = 1, heads_q = 0, heads_k = 0, heads_v = 0, seqlen_q = 0, seqlen_kv = 0, head_dim_qk = 0,
          head_dim_v = 0;
  std::string dtype, o_dtype, do_dtype, dqkv_dtype;
  Layout q, k, v, o, d_o, dq, dk, dv;
  bool offsets_are_i64 = false, ragged_stats = true;
  std::optional<int64_t> max_total_q, max_total_kv;
  bool scale_is_tensor = false;
  std::optional<double> scale;  ///< no scale, unless it is a tensor
  std::optional<int64_t> window_left, window_right;
  bool bottom_right = false, padding = false;
  std::optional<Bias> bias;
  bool alibi = false, block_mask = false, sink = false;
  std::optional<double> softcap;
  std::optional<ScoreModifier> score_mod;
  std::optional<Dropout> dropout;
  std::string cu_seqlens;      ///< "": none; q, kv, both
  bool ragged_tokens = false;  ///< offsets count tokens
  std::optional<Layout> stats_layout;
  std::string stats_dtype = "f32";
  bool stats_log2 = false, unfuse_fma = false, ordered_dq = false, dynamic_shapes = false, override_shapes = false;
  bool rope_q = false, rope_k = false;
  int64_t rope_dim = 0;  ///< 0: all
  bool stats = false, max_logit = false, sum_exp = false, deterministic = false;
  std::optional<Paged> paged;
  std::string fp8;  ///< "" unless dtype is fp8

  bool backward() const { return pass == "bprop"; }
  bool modified() const { return softcap || score_mod; }
  Dims q_dims() const { return {batch, heads_q, seqlen_q, head_dim_qk}; }
  Dims k_dims() const { return {batch, heads_k, seqlen_kv, head_dim_qk}; }
  Dims v_dims() const { return {batch, heads_v, seqlen_kv, head_dim_v}; }
  Dims o_dims() const { return {batch, heads_q, seqlen_q, head_dim_v}; }
  Dims score_dims() const { return {batch, heads_q, seqlen_q, seqlen_kv}; }
  Dims bias_dims() const;
};

/// Throws nlohmann's exceptions for malformed input.
Config parse_config(const Json& json);

}  // namespace frontend
