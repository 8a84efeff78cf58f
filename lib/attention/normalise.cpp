// The way back from an AttentionSpec to text, and the contradictions that a spec may hold.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "attnprobe/attention/fields.hpp"
#include "attnprobe/text.hpp"

namespace attnprobe::attention {
namespace {

Json to_json(const TensorLayout& layout) {
  if (layout.strides) return {{"strides", *layout.strides}};
  return layout.axes;
}

Json to_json(const Mask& mask) {
  if (const auto name = mask_name(mask)) return *name;
  Json json = Json::object();
  if (mask.window_left) json["window_left"] = *mask.window_left;
  if (mask.window_right) json["window_right"] = *mask.window_right;
  json["alignment"] = name_of(mask.alignment);
  json["padding"] = mask.padding;
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

// Q, K and V by one name where one name gives exactly them.
Json qkv_layout(const AttentionSpec& spec) {
  const bool named = !spec.q.strides && !spec.k.strides && !spec.v.strides;
  for (const std::string& name :
       {spec.q.axes, spec.q.axes + "_" + spec.k.axes, spec.q.axes + "_" + spec.k.axes + "_" + spec.v.axes}) {
    if (named && split_layout_name(name) == std::array{spec.q.axes, spec.k.axes, spec.v.axes}) return name;
  }
  return {{"q", to_json(spec.q)}, {"k", to_json(spec.k)}, {"v", to_json(spec.v)}};
}

void check_layout(const AttentionSpec& spec, std::vector<Contradiction>& found) {
  const bool packs_q = spec.q.axes.find('3') != std::string::npos;
  const bool packs_kv = packs_q || spec.k.axes.find('2') != std::string::npos;
  if (packs_q && (spec.heads_q != spec.heads_kv || spec.seqlen_q != spec.seqlen_kv))
    found.push_back(
        {"layout", fmt::format("\"{}\" interleaves Q, K and V, so they need equal heads and lengths; "
                               "heads are {} and {}, lengths {} and {}",
                               spec.q.axes, spec.heads_q, spec.heads_kv, spec.seqlen_q, spec.seqlen_kv)});
  if (packs_kv && spec.head_dim_qk != spec.head_dim_v)
    found.push_back({"layout", fmt::format("interleaved K and V need one head dimension; they have {} and {}",
                                           spec.head_dim_qk, spec.head_dim_v)});
}

void check_lengths(const AttentionSpec& spec, const char* key, const std::vector<int64_t>& lengths,
                   int64_t longest, std::vector<Contradiction>& found) {
  if (lengths.empty()) return;
  if (!spec.mask.padding)
    found.push_back({"mask", fmt::format("\"{}\" is given without \"padding\": true", key)});
  if (static_cast<int64_t>(lengths.size()) != spec.batch)
    found.push_back(
        {"mask", fmt::format("\"{}\" has {} lengths for a batch of {}", key, lengths.size(), spec.batch)});
  for (const int64_t length : lengths)
    if (length > longest)
      found.push_back(
          {"mask", fmt::format("\"{}\" holds {}, more than the sequence length {}", key, length, longest)});
}

void check_pattern(const AttentionSpec& spec, std::vector<Contradiction>& found) {
  auto has_no = [&](const char* field, const char* what) {
    found.push_back({field, fmt::format("pattern \"{}\" has no {}", name_of(spec.pattern), what)});
  };
  if (spec.pattern == Pattern::two_matmul) {
    if (spec.scale) has_no("scale", "scale: there is nothing between its two matmuls");
    if (mask_name(spec.mask) != "none") has_no("mask", "mask: there is nothing between its two matmuls");
  }
  if (spec.pattern == Pattern::two_matmul || spec.pattern == Pattern::mha) {
    if (wants_stats(spec)) has_no(spec.stats ? "stats" : "pass", "softmax statistics");
  }
  if (spec.pattern == Pattern::mha && (spec.mask.window_left || spec.mask.window_right.value_or(0) != 0 ||
                                       spec.mask.alignment == Alignment::bottom_right))
    has_no("mask", "window and no bottom-right diagonal; it takes none, causal, padding, padding_causal");
  if (spec.pattern == Pattern::sdpa_unified && spec.mask.has_diagonal())
    has_no("mask",
           "diagonal mask: cuDNN's single SDPA operation takes one only from 9.21, in a form that this "
           "release does "
           "not build; use \"sdpa_composite\"");
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
  json["seqlen_q"] = spec.seqlen_q;
  json["seqlen_kv"] = spec.seqlen_kv;
  json["head_dim_qk"] = spec.head_dim_qk;
  json["head_dim_v"] = spec.head_dim_v;
  json["dtype"] = name_of(spec.dtype);
  json["o_dtype"] = name_of(output_type(spec));
  json["layout"] = qkv_layout(spec);
  json["o_layout"] = to_json(output_layout(spec));
  if (spec.pattern != Pattern::two_matmul) json["scale"] = scale_of(spec);
  json["mask"] = to_json(spec.mask);
  json["stats"] = wants_stats(spec);
  return json;
}

std::string to_options(const AttentionSpec& spec) {
  std::string options;
  Json json = to_json(spec);
  // Equal pairs by their shorthand, and nothing that is the default whatever else is given.
  for (const auto& [whole, first, second] :
       {std::tuple("heads", "heads_q", "heads_kv"), std::tuple("seqlen", "seqlen_q", "seqlen_kv"),
        std::tuple("head_dim", "head_dim_qk", "head_dim_v")}) {
    if (json[first] != json[second]) continue;
    json[whole] = json[first];
    json.erase(first);
    json.erase(second);
  }
  for (const auto& [key, value] : json.items()) {
    if (key == "name" || key == "source" || key == "expect" || value == "none") continue;
    // A default that depends on other fields is left to them, so that the command stays readable.
    if (key == "o_dtype" && !spec.o_dtype) continue;
    if (key == "o_layout" && !spec.o) continue;
    if (key == "scale" && !spec.scale) continue;
    if (key == "stats" && !spec.stats) continue;
    options += (options.empty() ? "" : " ") + option_of(key) + " " +
               shell_word(value.is_string() ? value.get<std::string>() : value.dump());
  }
  return options;
}

std::vector<Contradiction> contradictions(const AttentionSpec& spec) {
  std::vector<Contradiction> found;
  const std::pair<const char*, int64_t> required[] = {
      {"heads", spec.heads_q},       {"heads_kv", spec.heads_kv},    {"seqlen", spec.seqlen_q},
      {"seqlen_kv", spec.seqlen_kv}, {"head_dim", spec.head_dim_qk}, {"head_dim_v", spec.head_dim_v}};
  for (const auto& [field, value] : required)
    if (value == 0) found.push_back({field, fmt::format("\"{}\" is missing", field)});
  if (!found.empty()) return found;
  if (spec.pass == Pass::fprop_train && spec.stats == false)
    found.push_back({"stats", "false contradicts pass \"fprop_train\", which is the pass with statistics"});
  check_layout(spec, found);
  check_lengths(spec, "seqlens_q", spec.mask.seqlens_q, spec.seqlen_q, found);
  check_lengths(spec, "seqlens_kv", spec.mask.seqlens_kv, spec.seqlen_kv, found);
  check_pattern(spec, found);
  return found;
}

}  // namespace attnprobe::attention
