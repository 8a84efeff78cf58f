// Converts a config to a framework's call: the values of gate keys for a question that has only a config. The keys'
// help is in lib/rules/frameworks.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "attention/fields.hpp"
#include "base/error.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::rules {
namespace {

using attention::AttentionSpec;

struct AskedConfig {
  const AttentionSpec& spec;
  const Json& problem;  // flat
};
using CallValue = std::function<Json(const AskedConfig&)>;

bool is_set(const AskedConfig& asked, const char* key) {
  return asked.problem.at(key) == true;
}

bool will_train(const AskedConfig& asked) {
  return asked.spec.pass != attention::Pass::fprop;
}

// By rule; cuDNN may refuse more.
Json backward_refused(const AskedConfig& asked) {
  if (!will_train(asked)) return false;
  AttentionSpec backward = asked.spec;
  backward.pass = attention::Pass::bprop;
  backward.max_logit = backward.sum_exp = false;
  backward.stats.reset();
  if (!contradictions(backward).empty()) return false;
  const auto version = CudnnVersion::from_number(asked.problem.at("cudnn").get<int64_t>());
  const int sm = asked.problem.at("sm").get<int>();
  const auto frontend = frontend_answer(backward, version, sm);
  return (frontend && frontend->refuses) || !unmet_requirements(backward, version, sm).empty();
}

// An axis of the bias, which frameworks call a mask: its extent, or 1 if it is broadcast.
CallValue mask_extent(size_t axis, int64_t AttentionSpec::*extent) {
  return [axis, extent](const AskedConfig& asked) -> Json {
    if (!asked.spec.bias) return nullptr;
    return asked.spec.bias->shape.at(axis) == '1' ? int64_t{1} : asked.spec.*extent;
  };
}

Json group_of(const AskedConfig& asked) {
  const AttentionSpec& spec = asked.spec;
  if (spec.heads_kv <= 0 || spec.heads_q % spec.heads_kv != 0) return nullptr;
  return spec.heads_q / spec.heads_kv;
}

Json rows_of_group(const AskedConfig& asked) {
  const Json group = group_of(asked);
  return group.is_null() ? Json() : Json(group.get<int64_t>() * asked.spec.seqlen_q);
}

Json nvte_mask(const AskedConfig& asked) {
  const bool is_padded = is_set(asked, "padding");
  if (!is_set(asked, "causal")) return is_padded ? "padding" : "no_mask";
  return fmt::format("{}causal{}", is_padded ? "padding_" : "", is_set(asked, "bottom_right") ? "_bottom_right" : "");
}

Json nvte_format(const AskedConfig& asked) {
  if (is_set(asked, "ragged")) return "thd";
  return asked.spec.q.axes.starts_with('s') ? "sbhd" : "bshd";
}

Json nvte_group(const AskedConfig& asked) {
  const std::string &q = asked.spec.q.axes, &k = asked.spec.k.axes;
  if (q.find("3h") != q.npos) return "3hd";
  if (q.find('3') != q.npos) return "h3d";
  if (k.find("2h") != k.npos) return "hd_2hd";
  return k.find('2') != k.npos ? "hd_h2d" : "hd_hd_hd";
}

// Excludes everything that the key's help names, because its meaning differs between two frameworks.
bool is_plain_for_score_mod(const AskedConfig& asked) {
  for (const char* extra :
       {"fp8", "ragged", "paged", "padding", "causal", "bias", "alibi", "dropout", "max_logit", "sink"})
    if (is_set(asked, extra)) return false;
  return asked.problem.at("window_left").is_null() && asked.problem.at("window_right").is_null();
}

bool is_plain_for_flashinfer(const AskedConfig& asked) {
  for (const char* extra : {"bias", "alibi", "softcap", "sink"})
    if (is_set(asked, extra)) return false;
  return asked.problem.at("window_left").is_null() && asked.problem.at("score_mod").is_null();
}

Json flashinfer_call(const AskedConfig& asked) {
  constexpr int64_t most_decode_queries = 4;
  if (!asked.spec.paged) return "ragged_auto";
  return asked.spec.seqlen_q <= most_decode_queries ? "decode_auto" : "prefill_cudnn";
}

// A serving engine's language models are causal and page their cache. Image encoders and diffusion models are not
// causal and page no cache.
CallValue served_model(bool causal_too, const char* otherwise) {
  return [causal_too, otherwise](const AskedConfig& asked) -> Json {
    const bool is_language = asked.spec.paged || is_set(asked, "decode") || (causal_too && is_set(asked, "causal"));
    return is_language ? "language" : otherwise;
  };
}

Json bias_type(const AskedConfig& asked) {
  const AttentionSpec& spec = asked.spec;
  return spec.bias ? Json(name_of(spec.bias->dtype.value_or(spec.dtype))) : Json();
}

constexpr double most_of_31_bits = 2147483647;

// Tokens of all sequences, whose lengths may be given individually.
double tokens_of(const std::vector<int64_t>& lengths, int64_t batch, int64_t longest) {
  if (lengths.empty()) return static_cast<double>(batch) * static_cast<double>(longest);
  return static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), int64_t{0}));
}

// The elements of the largest of Q, K and V. A double, because the product may overflow an integer.
double most_elements(const AttentionSpec& s, double tokens_q, double tokens_kv) {
  const auto elements = [](int64_t heads, int64_t head_dim, double tokens) {
    return static_cast<double>(heads) * static_cast<double>(head_dim) * tokens;
  };
  return std::max({elements(s.heads_q, s.head_dim_qk, tokens_q), elements(s.heads_kv, s.head_dim_qk, tokens_kv),
                   elements(heads_v(s), s.head_dim_v, tokens_kv)});
}

Json local_window_right(const AskedConfig& asked) {
  const attention::Mask& mask = asked.spec.mask;
  if (!mask.window_left && mask.window_right.value_or(0) == 0) return nullptr;
  return mask.window_right ? Json(*mask.window_right) : Json();
}

CallValue same_as(const char* key) {
  return [key](const AskedConfig& asked) { return asked.problem.at(key); };
}

// By key, or by framework and key if frameworks differ.
const std::map<std::string, CallValue, std::less<>>& call_values() {
  static const CallValue in_training = [](const AskedConfig& asked) { return Json(will_train(asked)); };
  static const std::map<std::string, CallValue, std::less<>> values{
      {"requires_grad", in_training},
      {"query_requires_grad", in_training},
      {"is_training", in_training},
      {"backward_refused", backward_refused},
      {"inference", [](const AskedConfig& asked) { return Json(!will_train(asked)); }},
      {"deterministic_algorithms", same_as("deterministic")},
      {"mask_rank", [](const AskedConfig& asked) { return asked.spec.bias ? Json(4) : Json(); }},
      {"mask_batch", mask_extent(0, &AttentionSpec::batch)},
      {"mask_heads", mask_extent(1, &AttentionSpec::heads_q)},
      {"bias_batch", mask_extent(0, &AttentionSpec::batch)},
      {"bias_heads", mask_extent(1, &AttentionSpec::heads_q)},
      {"mask_rows", mask_extent(2, &AttentionSpec::seqlen_q)},
      {"mask_columns", mask_extent(3, &AttentionSpec::seqlen_kv)},
      {"mask_dtype", bias_type},
      {"mask_last_stride", [](const AskedConfig& asked) { return asked.spec.bias ? Json(1) : Json(); }},
      {"mask_requires_grad", same_as("bias_grad")},
      {"bias_requires_grad", same_as("bias_grad")},
      {"array_mask", same_as("bias")},
      {"page_size",
       [](const AskedConfig& asked) { return asked.spec.paged ? Json(asked.spec.paged->block_size) : Json(); }},
      {"page_size_power_of_two",
       [](const AskedConfig& asked) {
         const int64_t size = asked.spec.paged ? asked.spec.paged->block_size : 1;
         return Json((size & (size - 1)) == 0);
       }},
      {"seqused_k", same_as("paged")},
      {"kv_cache", same_as("paged")},
      {"same_cu_seq", [](const AskedConfig& asked) { return Json(asked.spec.seqlen_q == asked.spec.seqlen_kv); }},
      {"group", group_of},
      {"rows", same_as("seqlen_q")},
      {"tile_rows", rows_of_group},
      {"units", [](const AskedConfig& asked) { return Json(asked.spec.batch * asked.spec.heads_kv); }},
      {"scores",
       [](const AskedConfig& asked) {
         const AttentionSpec& s = asked.spec;
         // A double: the product of four extents may overflow an integer.
         return Json(static_cast<double>(s.batch) * static_cast<double>(s.heads_q) * static_cast<double>(s.seqlen_q) *
                     static_cast<double>(s.seqlen_kv));
       }},
      {"torch-varlen/wide_offsets",
       [](const AskedConfig& asked) {
         const AttentionSpec& s = asked.spec;
         const double q = tokens_of(s.mask.seqlens_q, s.batch, s.seqlen_q),
                      kv = tokens_of(s.mask.seqlens_kv, s.batch, s.seqlen_kv);
         return Json(is_ragged(s) && most_elements(s, q, s.paged ? 0 : kv) > most_of_31_bits);
       }},
      // Q, K and V separately, as a config has them.
      {"wide_offsets",
       [](const AskedConfig& asked) {
         const AttentionSpec& s = asked.spec;
         const auto q = static_cast<double>(s.seqlen_q), kv = static_cast<double>(s.seqlen_kv);
         return Json(is_ragged(s) && !s.paged && most_elements(s, q, kv) > most_of_31_bits);
       }},
      {"seqlen_q_given", same_as("padding")},
      {"seqlen_kv_given", same_as("padding")},
      {"padding_mask_type", same_as("padding")},
      {"packed", [](const AskedConfig& asked) { return Json(is_ragged(asked.spec) && asked.spec.batch > 1); }},
      {"offsets", same_as("ragged")},
      {"nested", same_as("ragged")},
      {"enable_gqa", same_as("gqa")},
      {"local_window_right", local_window_right},
      {"window_length",
       [](const AskedConfig& asked) {
         const auto& left = asked.spec.mask.window_left;
         return left ? Json(*left + 1) : Json();
       }},
      {"flashinfer/plain_call", [](const AskedConfig& asked) { return Json(is_plain_for_flashinfer(asked)); }},
      {"flashinfer/call", flashinfer_call},
      {"transformer-engine/plain_call", [](const AskedConfig& asked) { return Json(is_plain_for_score_mod(asked)); }},
      {"vllm/use", served_model(true, "vision")},
      {"sglang/use", served_model(false, "diffusion")},
      {"autoregressive", same_as("decode")},
      {"local_sliding", [](const AskedConfig& asked) { return Json(asked.spec.mask.window_left.has_value()); }},
      {"max_logits", same_as("max_logit")},
      {"return_max_logit", same_as("max_logit")},
      {"fp8_recipe", same_as("fp8_scaling")},
      {"qkv_format", nvte_format},
      {"qkv_layout_group", nvte_group},
      {"softmax_type", [](const AskedConfig& asked) { return Json(is_set(asked, "sink") ? "learnable" : "vanilla"); }},
      {"attn_mask_type", nvte_mask},
      {"bias_type",
       [](const AskedConfig& asked) {
         if (is_set(asked, "alibi")) return Json("alibi");
         return Json(is_set(asked, "bias") ? "post_scale_bias" : "no_bias");
       }},
  };
  return values;
}

}  // namespace

Json describe_gate_call(const FrameworkGate& gate, const AttentionSpec& spec, CudnnVersion cudnn_version, int sm,
                        const Json& call) {
  const Json problem = describe_problem(spec, cudnn_version, sm);
  Json all = gate.base;
  all.update(problem);
  const auto& values = call_values();
  for (const CallKey& gate_key : gate.keys) {
    const std::string& name = gate_key.key.name;
    auto found = values.find(gate.framework + "/" + name);
    if (found == values.end()) found = values.find(name);
    if (found != values.end()) all[name] = found->second({spec, problem});
    if (call.is_object() && call.contains(name)) all[name] = call.at(name);
  }
  // Only calls have this key; configs have only fields.
  if (call.is_object() && !call.empty()) all[names_cudnn] = call.value(names_cudnn, false);
  return all;
}

}  // namespace attnprobe::rules
