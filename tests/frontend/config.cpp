#include "config.hpp"

#include <cctype>
#include <cmath>

namespace frontend {
namespace {

// Keys of disabled features may be absent, null, false or "none".
bool is_off(const Json& json, const char* key) {
  if (!json.contains(key)) return true;
  const Json& value = json[key];
  return value.is_null() || value == false || value == "none";
}

template <typename T>
std::optional<T> optional_value(const Json& json, const char* key) {
  if (is_off(json, key)) return std::nullopt;
  return json[key].get<T>();
}

Layout parse_layout(const Json& json) {
  if (json.is_string()) return {json.get<std::string>(), std::nullopt};
  return {json.value("axes", ""), json.at("strides").get<Dims>()};
}

std::vector<std::string> groups_of(const std::string& name) {
  std::vector<std::string> groups{""};
  for (const char letter : name)
    if (letter == '_')
      groups.emplace_back();
    else
      groups.back() += letter;
  return groups;
}

// Q, K, V by one name, or each by its key. `prefix` is "d" for the keys of gradients.
void parse_layouts(const Json& json, const std::string& prefix, Layout& q, Layout& k, Layout& v) {
  if (json.is_string()) {
    const auto groups = groups_of(json.get<std::string>());
    q = {groups.front(), std::nullopt};
    k = {groups.size() > 1 ? groups[1] : groups[0], std::nullopt};
    v = {groups.back(), std::nullopt};
    return;
  }
  auto one = [&](const std::string& key, Layout& layout) {
    if (json.contains(key)) layout = parse_layout(json[key]);
    if (json.contains(prefix + key)) layout = parse_layout(json[prefix + key]);
  };
  one("q", q);
  one("k", k);
  one("v", v);
}

std::string without_digits(const std::string& axes) {
  std::string letters;
  for (const char axis : axes)
    if (!std::isdigit(static_cast<unsigned char>(axis))) letters += axis;
  return letters;
}

void parse_all_layouts(const Json& json, Config& config) {
  config.q = config.k = config.v = {"bshd", std::nullopt};
  const Json layout = json.value("layout", Json("bshd"));
  parse_layouts(layout, "", config.q, config.k, config.v);
  config.o = config.q.strides ? Layout{"bshd", std::nullopt} : Layout{without_digits(config.q.axes), {}};
  if (layout.is_object() && layout.contains("o")) config.o = parse_layout(layout["o"]);
  if (json.contains("o_layout")) config.o = parse_layout(json["o_layout"]);
  config.d_o = json.contains("do_layout") ? parse_layout(json["do_layout"]) : config.o;
  config.dq = config.q;
  config.dk = config.k;
  config.dv = config.v;
  if (json.contains("dqkv_layout")) parse_layouts(json["dqkv_layout"], "d", config.dq, config.dk, config.dv);
}

void parse_mask(const Json& mask, Config& config) {
  if (mask.is_string()) {
    const std::string name = mask.get<std::string>();
    config.padding = name.starts_with("padding");
    if (name.find("causal") != std::string::npos) config.window_right = 0;
    config.bottom_right = name.ends_with("bottom_right");
    return;
  }
  if (mask.value("causal", false)) config.window_right = 0;
  if (mask.contains("window_left")) config.window_left = mask["window_left"].get<int64_t>();
  if (mask.contains("window_right")) config.window_right = mask["window_right"].get<int64_t>();
  config.bottom_right = mask.value("alignment", "top_left") == "bottom_right";
  config.padding = mask.value("padding", false);
}

void parse_score(const Json& json, Config& config) {
  if (!is_off(json, "bias")) {
    const Json& bias = json["bias"];
    if (bias.is_string())
      config.bias = Bias{bias.get<std::string>(), config.dtype, std::nullopt, false};
    else if (bias.value("shape", "1hss") != "none")
      config.bias = Bias{bias.value("shape", "1hss"), bias.value("dtype", config.dtype),
                         optional_value<Dims>(bias, "strides"), bias.value("grad", false)};
  }
  if (!is_off(json, "score_mod")) {
    const Json& mod = json["score_mod"];
    config.score_mod = mod.is_string() ? ScoreModifier{mod.get<std::string>(), true}
                                       : ScoreModifier{mod.at("kind").get<std::string>(), mod.value("grad", true)};
  }
  if (!is_off(json, "dropout")) {
    const Json& dropout = json["dropout"];
    Dropout result;
    result.probability = dropout.is_object() ? dropout.value("probability", 0.0) : dropout.get<double>();
    if (dropout.is_object()) {
      result.form = dropout.value("form", result.form);
      result.seed = dropout.value("seed", result.seed);
      result.dump = dropout.value("dump", false);
    }
    if (dropout.is_object() || result.probability != 0) config.dropout = result;
  }
  config.alibi = json.value("alibi", false);
  config.block_mask = json.value("block_mask", false);
  config.sink = json.value("sink", false);
  config.softcap = optional_value<double>(json, "softcap");
}

void parse_paged(const Json& json, Config& config) {
  if (is_off(json, "paged")) return;
  const Json& paged = json["paged"];
  Paged result;
  if (paged.is_object()) {
    result = {paged.value("block_size", result.block_size), paged.value("k", true), paged.value("v", true),
              paged.value("packed_table", false), paged.value("layout", result.layout)};
  } else {
    result.block_size = paged.get<int64_t>();
  }
  config.paged = result;
}

// Features added after cuDNN 9.21.
void parse_newer(const Json& json, Config& config) {
  if (!is_off(json, "cu_seqlens")) config.cu_seqlens = json["cu_seqlens"].get<std::string>();
  config.ragged_tokens = json.value("ragged_unit", "element") == "token";
  if (!is_off(json, "stats_layout")) config.stats_layout = parse_layout(json["stats_layout"]);
  config.stats_dtype = json.value("stats_dtype", "f32");
  config.stats_log2 = json.value("stats_log2", false);
  config.unfuse_fma = json.value("unfuse_fma", false);
  config.ordered_dq = json.value("ordered_dq", false);
  config.dynamic_shapes = json.value("dynamic_shapes", false);
  config.override_shapes = json.value("override_shapes", false);
  if (is_off(json, "rope")) return;
  const Json rope = json["rope"].is_object() ? json["rope"] : Json::object();
  config.rope_q = rope.value("q", true);
  config.rope_k = rope.value("k", true);
  config.rope_dim = rope.value("dim", int64_t{0});
}

}  // namespace

Dims packed_strides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * dims[i + 1];
  return strides;
}

Dims strides_of(const Layout& layout, const Dims& dims) {
  if (layout.strides) return *layout.strides;
  std::string axes;
  for (const char axis : layout.axes) axes += axis == 't' ? std::string("bs") : std::string(1, axis);
  Dims strides(4, 1);
  int64_t step = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    const size_t index = std::string("bhsd").find(*axis);
    if (index == std::string::npos) {
      step *= *axis - '0';
      continue;
    }
    strides[index] = step;
    step *= dims[index];
  }
  return strides;
}

Dims Config::bias_dims() const {
  Dims dims = score_dims();
  for (size_t i = 0; i < dims.size(); ++i)
    if (bias->shape.at(i) == '1') dims[i] = 1;
  return dims;
}

Config parse_config(const Json& json) {
  Config config;
  config.name = json.value("name", "");
  config.pattern = json.value("pattern", "sdpa");
  config.pass = json.value("pass", "fprop");
  config.batch = json.value("batch", int64_t{1});
  config.heads_q = json.at("heads_q").get<int64_t>();
  config.heads_k = json.at("heads_kv").get<int64_t>();
  config.heads_v = json.value("heads_v", config.heads_k);
  config.seqlen_q = json.at("seqlen_q").get<int64_t>();
  config.seqlen_kv = json.at("seqlen_kv").get<int64_t>();
  config.head_dim_qk = json.at("head_dim_qk").get<int64_t>();
  config.head_dim_v = json.at("head_dim_v").get<int64_t>();
  config.dtype = json.value("dtype", "f16");
  config.o_dtype = json.value("o_dtype", config.dtype);
  config.do_dtype = json.value("do_dtype", config.dtype);
  config.dqkv_dtype = json.value("dqkv_dtype", config.o_dtype);
  parse_all_layouts(json, config);
  config.offsets_are_i64 = json.value("ragged_offsets", "i32") == "i64";
  config.ragged_stats = json.value("ragged_stats", true);
  config.max_total_q = optional_value<int64_t>(json, "max_total_seqlen_q");
  config.max_total_kv = optional_value<int64_t>(json, "max_total_seqlen_kv");
  const Json scale = json.value("scale", Json());
  config.scale_is_tensor = scale == "tensor";
  if (scale.is_number()) config.scale = scale.get<double>();
  if (scale.is_null()) config.scale = 1.0 / std::sqrt(static_cast<double>(config.head_dim_qk));
  parse_mask(json.value("mask", Json("none")), config);
  parse_score(json, config);
  config.stats = json.value("stats", config.pass == "fprop_train");
  parse_newer(json, config);
  config.max_logit = json.value("max_logit", false);
  config.sum_exp = json.value("sum_exp", false);
  config.deterministic = json.value("deterministic", false);
  parse_paged(json, config);
  if (config.dtype.starts_with("fp8"))
    config.fp8 = json.value("fp8", config.o_dtype.starts_with("fp8") ? "delayed" : "current");
  if (!json.value("softmax", true)) throw NotExpressible("attention without softmax");
  return config;
}

}  // namespace frontend
