// The way back from an AttentionSpec to text, and the contradictions that a spec may hold.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "attention/features.hpp"
#include "attention/fields.hpp"
#include "base/text.hpp"

namespace attnprobe::attention {
namespace {

Json to_json(const TensorLayout& layout) {
  if (!layout.strides) return layout.axes;
  Json json = {{"strides", *layout.strides}};
  if (!layout.axes.empty()) json["axes"] = layout.axes;
  return json;
}

Json to_json(const Mask& mask) {
  if (const auto name = mask_name(mask)) return *name;
  Json json = Json::object();
  if (mask.window_left) json["window_left"] = *mask.window_left;
  if (mask.window_right) json["window_right"] = *mask.window_right;
  json["alignment"] = name_of(mask.alignment);
  json["padding"] = mask.padding;
  if (mask.padding_after_stats) json["padding_after_stats"] = true;
  if (!mask.seqlens_q.empty()) json["seqlens_q"] = mask.seqlens_q;
  if (!mask.seqlens_kv.empty()) json["seqlens_kv"] = mask.seqlens_kv;
  return json;
}

Json to_json(const Expectation& expect) {
  if (expect.by_target.empty()) return name_of(expect.otherwise);
  Json json = Json::object();
  for (const auto& [target, verdict] : expect.by_target) json[target] = name_of(verdict);
  json["default"] = name_of(expect.otherwise);
  return json;
}

// Three tensors by one name where one name gives exactly them.
Json to_json(const TensorLayout& q, const TensorLayout& k, const TensorLayout& v) {
  const bool named = !q.strides && !k.strides && !v.strides;
  for (const std::string& name : {q.axes, q.axes + "_" + k.axes, q.axes + "_" + k.axes + "_" + v.axes}) {
    if (named && split_layout_name(name) == std::array{q.axes, k.axes, v.axes}) return name;
  }
  return {{"q", to_json(q)}, {"k", to_json(k)}, {"v", to_json(v)}};
}

// The features that are asked for, and none that is not.
void add_features(const AttentionSpec& spec, Json& json) {
  if (spec.bias) json["bias"] = to_json(*spec.bias);
  if (spec.alibi) json["alibi"] = true;
  if (spec.softcap) json["softcap"] = *spec.softcap;
  if (spec.score_mod) json["score_mod"] = to_json(*spec.score_mod);
  if (spec.sink) json["sink"] = true;
  if (spec.block_mask) json["block_mask"] = true;
  if (spec.dropout) json["dropout"] = to_json(*spec.dropout);
  if (!is_bprop(spec)) json["stats"] = wants_stats(spec);
  if (spec.max_logit) json["max_logit"] = true;
  if (spec.sum_exp) json["sum_exp"] = true;
  if (spec.deterministic) json["deterministic"] = true;
  if (spec.paged) json["paged"] = to_json(*spec.paged);
  if (is_fp8(spec)) json["fp8"] = name_of(fp8_scaling(spec));
  if (!spec.softmax) json["softmax"] = false;
}

void add_gradients(const AttentionSpec& spec, Json& json) {
  json["do_dtype"] = name_of(d_output_type(spec));
  json["dqkv_dtype"] = name_of(gradient_type(spec));
  if (spec.d_o) json["do_layout"] = to_json(*spec.d_o);
  if (spec.dq) json["dqkv_layout"] = to_json(*spec.dq, *spec.dk, *spec.dv);
  if (spec.max_total_seqlen_q) json["max_total_seqlen_q"] = *spec.max_total_seqlen_q;
  if (spec.max_total_seqlen_kv) json["max_total_seqlen_kv"] = *spec.max_total_seqlen_kv;
}

void check_layout(const AttentionSpec& spec, std::vector<Contradiction>& found) {
  const bool packs_q = spec.q.axes.find('3') != std::string::npos;
  const bool packs_kv = packs_q || spec.k.axes.find('2') != std::string::npos;
  if (packs_q && (spec.heads_q != spec.heads_kv || spec.heads_q != heads_v(spec) || spec.seqlen_q != spec.seqlen_kv))
    found.push_back(
        {"layout",
         fmt::format("\"{}\" interleaves Q, K and V, so they need equal heads and lengths; heads are {} and {}{}, "
                     "lengths {} and {}",
                     spec.q.axes, spec.heads_q, spec.heads_kv,
                     spec.heads_v ? fmt::format(" and {}", *spec.heads_v) : "", spec.seqlen_q, spec.seqlen_kv)});
  else if (packs_kv && spec.heads_kv != heads_v(spec))
    found.push_back({"layout", fmt::format("interleaved K and V need equal heads; they have {} and {}", spec.heads_kv,
                                           heads_v(spec))});
  if (packs_kv && spec.head_dim_qk != spec.head_dim_v)
    found.push_back({"layout", fmt::format("interleaved K and V need one head dimension; they have {} and {}",
                                           spec.head_dim_qk, spec.head_dim_v)});
}

void check_lengths(const AttentionSpec& spec, const char* key, const std::vector<int64_t>& lengths, int64_t longest,
                   std::vector<Contradiction>& found) {
  if (lengths.empty()) return;
  if (!spec.mask.padding) found.push_back({"mask", fmt::format("\"{}\" is given without \"padding\": true", key)});
  if (static_cast<int64_t>(lengths.size()) != spec.batch)
    found.push_back({"mask", fmt::format("\"{}\" has {} lengths for a batch of {}", key, lengths.size(), spec.batch)});
  for (const int64_t length : lengths)
    if (length > longest)
      found.push_back({"mask", fmt::format("\"{}\" holds {}, more than the sequence length {}", key, length, longest)});
}

struct Feature {
  const char* field;
  bool asked;
};

// Everything that only flash attention has.
std::vector<Feature> flash_features(const AttentionSpec& spec) {
  return {{"alibi", spec.alibi},     {"softcap", spec.softcap.has_value()}, {"score_mod", spec.score_mod.has_value()},
          {"sink", spec.sink},       {"block_mask", spec.block_mask},       {"max_logit", spec.max_logit},
          {"sum_exp", spec.sum_exp}, {"paged", spec.paged.has_value()},     {"layout", is_ragged(spec)},
          {"dtype", is_fp8(spec)}};
}

void check_pattern(const AttentionSpec& spec, std::vector<Contradiction>& found) {
  auto has_no = [&](const char* field, const char* what) {
    found.push_back({field, fmt::format("pattern \"{}\" has no {}", name_of(spec.pattern), what)});
  };
  const bool plain = spec.pattern == Pattern::two_matmul, legacy = spec.pattern == Pattern::mha;
  if (plain || legacy)
    for (const auto& [field, asked] : flash_features(spec))
      if (asked) has_no(field, fmt::format("{}: only flash attention (sdpa) does", field).c_str());
  if (plain) {
    if (spec.scale || spec.scale_form == ScaleForm::tensor)
      has_no("scale", "scale: there is nothing between its two matmuls");
    if (mask_name(spec.mask) != "none") has_no("mask", "mask: there is nothing between its two matmuls");
    if (spec.bias) has_no("bias", "bias: there is nothing between its two matmuls");
    if (spec.dropout) has_no("dropout", "dropout: there is nothing between its two matmuls");
    if (wants_stats(spec)) has_no(spec.stats ? "stats" : "pass", "softmax statistics");
    if (is_bprop(spec)) has_no("pass", "backward pass");
  }
  if (legacy) {
    if (spec.stats == true) has_no("stats", "softmax statistics; fprop_train stores S itself");
    if (spec.mask.window_left || spec.mask.window_right.value_or(0) != 0 ||
        spec.mask.alignment == Alignment::bottom_right)
      has_no("mask", "window and no bottom-right diagonal; it takes none, causal, padding, padding_causal");
    if (!spec.softmax && spec.pass == Pass::bprop) has_no("softmax", "backward pass without a softmax");
  } else if (!spec.softmax) {
    found.push_back({"softmax", "false is for pattern \"mha\" only; \"two_matmul\" never has one"});
  }
  if (spec.block_mask && (spec.pattern == Pattern::sdpa_composite || is_bprop(spec)))
    found.push_back({"block_mask", "only the forward pass of cuDNN's single SDPA operation takes one"});
}

// Offsets count elements, so a token must have equally many in both tensors.
void check_shared_offsets(const AttentionSpec& spec, std::vector<Contradiction>& found) {
  if (!spec.ragged_shared) return;
  const bool both = spec.q.ragged() == output_layout(spec).ragged() && spec.k.ragged() == spec.v.ragged();
  const bool alike = q_strides(spec)[2] == o_strides(spec)[2] && k_strides(spec)[2] == v_strides(spec)[2];
  if (!is_ragged(spec))
    found.push_back({"ragged_shared", "given without a ragged layout (\"thd\")"});
  else if (!both || !alike || spec.paged)
    found.push_back({"ragged_shared",
                     "Q and O, and K and V, have one tensor of offsets only where both are ragged and their tokens "
                     "have equally many elements"});
}

void check_features(const AttentionSpec& spec, std::vector<Contradiction>& found) {
  if (spec.pattern == Pattern::sdpa_unified && spec.dropout &&
      (spec.dropout->form == DropoutForm::mask || spec.dropout->seed == SeedForm::constant))
    found.push_back({"dropout",
                     "the single SDPA operation draws its mask itself, from tensors; use pattern \"sdpa_composite\" "
                     "for a mask of the caller's or a constant seed"});
  if (spec.paged && is_bprop(spec)) found.push_back({"paged", "a paged cache has no backward pass"});
  if (spec.fp8 && !is_fp8(spec))
    found.push_back({"fp8", fmt::format("given with dtype \"{}\", which is not fp8", name_of(spec.dtype))});
  check_shared_offsets(spec, found);
  if ((spec.max_total_seqlen_q || spec.max_total_seqlen_kv) && !is_ragged(spec))
    found.push_back({spec.max_total_seqlen_q ? "max_total_seqlen_q" : "max_total_seqlen_kv",
                     "given without a ragged layout (\"thd\")"});
}

}  // namespace

Json to_json(const AttentionSpec& spec) {
  Json json = Json::object();
  if (!spec.name.empty()) json["name"] = spec.name;
  if (!spec.source.empty()) json["source"] = spec.source;
  json["expect"] = to_json(spec.expect);
  json["pattern"] = name_of(spec.pattern);
  json["pass"] = name_of(spec.pass);
  json["batch"] = spec.batch;
  json["heads_q"] = spec.heads_q;
  json["heads_kv"] = spec.heads_kv;
  if (spec.heads_v) json["heads_v"] = *spec.heads_v;
  json["seqlen_q"] = spec.seqlen_q;
  json["seqlen_kv"] = spec.seqlen_kv;
  json["head_dim_qk"] = spec.head_dim_qk;
  json["head_dim_v"] = spec.head_dim_v;
  json["dtype"] = name_of(spec.dtype);
  json["o_dtype"] = name_of(output_type(spec));
  json["layout"] = to_json(spec.q, spec.k, spec.v);
  json["o_layout"] = to_json(output_layout(spec));
  if (is_bprop(spec)) add_gradients(spec, json);
  if (is_ragged(spec)) {
    json["ragged_offsets"] = name_of(spec.ragged_offsets);
    json["ragged_stats"] = spec.ragged_stats;
    if (spec.ragged_shared) json["ragged_shared"] = true;
  }
  if (spec.scale_form != ScaleForm::by_value)
    json["scale"] = name_of(spec.scale_form);
  else if (spec.pattern != Pattern::two_matmul)
    json["scale"] = scale_of(spec);
  json["mask"] = to_json(spec.mask);
  add_features(spec, json);
  return json;
}

std::string to_options(const AttentionSpec& spec) {
  std::string options;
  Json json = to_json(spec);
  // Equal pairs by their shorthand, and nothing that is the default whatever else is given.
  for (const auto& [whole, first, second] :
       {std::tuple("heads", "heads_q", "heads_kv"), std::tuple("seqlen", "seqlen_q", "seqlen_kv"),
        std::tuple("head_dim", "head_dim_qk", "head_dim_v")}) {
    if (json[first] != json[second] || (whole == std::string("heads") && spec.heads_v)) continue;
    json[whole] = json[first];
    json.erase(first);
    json.erase(second);
  }
  const Json usual = {{"pattern", "sdpa"}, {"pass", "fprop"}, {"batch", 1}, {"dtype", "f16"}, {"layout", "bshd"}};
  if (auto mask = json.find("mask"); mask != json.end() && mask->is_object()) {
    if ((*mask)["alignment"] == "top_left") mask->erase("alignment");
    if ((*mask)["padding"] == false) mask->erase("padding");
  }
  for (const auto& [key, value] : json.items()) {
    if (usual.contains(key) && usual[key] == value) continue;
    if (key == "name" || key == "source" || key == "expect" || (key == "mask" && value == "none")) continue;
    // A default that depends on other fields is left to them, so that the command stays readable.
    if (key == "o_dtype" && !spec.o_dtype) continue;
    if (key == "o_layout" && !spec.o) continue;
    if (key == "do_dtype" && !spec.do_dtype) continue;
    if (key == "dqkv_dtype" && !spec.dqkv_dtype) continue;
    if (key == "ragged_offsets" && spec.ragged_offsets == DataType::i32) continue;
    if (key == "ragged_stats" && spec.ragged_stats) continue;
    if (key == "scale" && !spec.scale && spec.scale_form == ScaleForm::by_value) continue;
    if (key == "stats" && !spec.stats) continue;
    if (key == "fp8" && !spec.fp8) continue;
    options += (options.empty() ? "" : " ") + option_of(key) + " " +
               shell_word(value.is_string() ? value.get<std::string>() : value.dump());
  }
  return options;
}

std::vector<Contradiction> contradictions(const AttentionSpec& spec) {
  std::vector<Contradiction> found;
  const std::pair<const char*, int64_t> required[] = {{"heads", spec.heads_q},        {"heads_kv", spec.heads_kv},
                                                      {"seqlen", spec.seqlen_q},      {"seqlen_kv", spec.seqlen_kv},
                                                      {"head_dim", spec.head_dim_qk}, {"head_dim_v", spec.head_dim_v}};
  for (const auto& [field, value] : required)
    if (value == 0) found.push_back({field, fmt::format("\"{}\" is missing", field)});
  if (!found.empty()) return found;
  if (spec.pass == Pass::fprop_train && spec.stats == false && spec.pattern != Pattern::mha)
    found.push_back({"stats", "false contradicts pass \"fprop_train\", which is the pass with statistics"});
  check_layout(spec, found);
  check_lengths(spec, "seqlens_q", spec.mask.seqlens_q, spec.seqlen_q, found);
  check_lengths(spec, "seqlens_kv", spec.mask.seqlens_kv, spec.seqlen_kv, found);
  check_pattern(spec, found);
  check_features(spec, found);
  return found;
}

}  // namespace attnprobe::attention
