// The possible contradictions of a spec.
#include <fmt/format.h>

#include <algorithm>

#include "attention/fields.hpp"
#include "base/text.hpp"

namespace attnprobe::attention {
namespace {

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
      found.push_back(
          {"mask", fmt::format("\"{}\" contains {}, more than the sequence length {}", key, length, longest)});
}

void check_pattern(const AttentionSpec& spec, std::vector<Contradiction>& found) {
  auto has_no = [&](const std::string& field, const std::string& what) {
    found.push_back({field, fmt::format("pattern \"{}\" has no {}", name_of(spec.pattern), what)});
  };
  const bool plain = spec.pattern == Pattern::two_matmul, legacy = spec.pattern == Pattern::mha;
  if (plain || legacy)
    for (const auto& field : fields())
      if (field.needs_flash(spec)) has_no(field.name, field.name + ": only flash attention (sdpa) does");
  if (plain) {
    if (spec.scale || spec.scale_form == ScaleForm::tensor)
      has_no("scale", "scale: there is nothing between its two matmuls");
    if (spec.mask != Mask()) has_no("mask", "mask: there is nothing between its two matmuls");
    if (spec.bias) has_no("bias", "bias: there is nothing between its two matmuls");
    if (spec.dropout) has_no("dropout", "dropout: there is nothing between its two matmuls");
    if (wants_stats(spec)) has_no(spec.stats ? "stats" : "pass", "softmax statistics");
    if (is_bprop(spec)) has_no("pass", "backward pass");
  }
  if (legacy) {
    if (spec.stats == true) has_no("stats", "softmax statistics; fprop_train stores S itself");
    if (spec.mask.window_left || spec.mask.window_right.value_or(0) != 0 ||
        spec.mask.alignment == Alignment::bottom_right)
      has_no("mask", "window and no bottom-right diagonal; it supports none, causal, padding, padding_causal");
    if (!spec.softmax && spec.pass == Pass::bprop) has_no("softmax", "backward pass without a softmax");
  } else if (!spec.softmax) {
    found.push_back({"softmax", "false is for pattern \"mha\" only; \"two_matmul\" never has one"});
  }
  if (spec.block_mask && (spec.pattern == Pattern::sdpa_composite || is_bprop(spec)))
    found.push_back({"block_mask", "only the forward pass of cuDNN's unified SDPA operation supports one"});
}

// Features added after cuDNN 9.21.
void check_newer(const AttentionSpec& spec, std::vector<Contradiction>& found) {
  const bool composite = spec.pattern == Pattern::sdpa_composite || (is_bprop(spec) && spec.pattern == Pattern::sdpa);
  auto unified_only = [&](bool given, const char* field) {
    if (given && composite) found.push_back({field, "only cuDNN's unified SDPA operation supports that"});
  };
  unified_only(spec.cu_seqlens.has_value(), "cu_seqlens");
  unified_only(spec.ragged_unit == RaggedUnit::token, "ragged_unit");
  if (spec.cu_seqlens && !spec.mask.padding && !spec.paged)
    found.push_back({"cu_seqlens", "given without a padding mask, so there are no lengths"});
  if (spec.ragged_unit == RaggedUnit::token && !is_ragged(spec))
    found.push_back({"ragged_unit", "given without a ragged layout (\"thd\")"});
  const bool has_stats = is_bprop(spec) || wants_stats(spec);
  for (const auto& [given, field] :
       {std::pair{spec.stats_layout.has_value(), "stats_layout"},
        std::pair{spec.stats_dtype.has_value(), "stats_dtype"}, std::pair{spec.stats_log2, "stats_log2"}})
    if (given && !has_stats) found.push_back({field, "given without statistics; pass \"fprop_train\" has them"});
  if (spec.stats_log2 && is_bprop(spec))
    found.push_back(
        {"stats_log2", "a backward pass cannot state the base of its statistics; only natural ones are supported"});
  if (spec.rope && is_bprop(spec)) found.push_back({"rope", "attnprobe builds it only for the forward pass"});
  if (spec.rope && spec.rope->k && spec.pattern == Pattern::sdpa_composite)
    found.push_back({"rope",
                     "the composite graph has K transposed, and cuDNN's operation does not rotate a transposed K "
                     "(measured, 9.24 to 9.28); use pattern \"sdpa_unified\", or {\"k\": false}"});
  if (spec.rope && spec.rope->k && spec.paged && spec.paged->k)
    found.push_back({"rope", "attnprobe does not rotate a paged K; use {\"k\": false}"});
  if (spec.rope && spec.rope->dim.value_or(0) > spec.head_dim_qk)
    found.push_back({"rope", fmt::format("dim is {}, more than head_dim_qk {}", *spec.rope->dim, spec.head_dim_qk)});
  if (spec.ordered_dq && (!is_bprop(spec) || !spec.deterministic || is_fp8(spec)))
    found.push_back({"ordered_dq",
                     "it is a form of the deterministic 16-bit backward pass: give \"pass\": \"bprop\" and "
                     "\"deterministic\": true"});
  if (spec.unfuse_fma && (composite || is_bprop(spec)))
    found.push_back({"unfuse_fma", "only the forward pass of cuDNN's unified SDPA operation supports it"});
  if (spec.compute_dtype != DataType::f32)
    found.push_back(
        {"compute_dtype",
         "f16 needs cuDNN 9.29 (CUDNN_ATTR_OPERATION_SDPA_FWD_COMP_TYPE), which is in no known header; every version up to 9.28 accumulates in f32"});
  if (spec.dynamic_shapes && spec.override_shapes)
    found.push_back({"override_shapes", "contradicts \"dynamic_shapes\": a graph is one or the other"});
}

// Offsets count elements, so tokens must have the same number of elements in both tensors.
void check_shared_offsets(const AttentionSpec& spec, std::vector<Contradiction>& found) {
  if (!spec.ragged_shared) return;
  const bool both = spec.q.ragged() == output_layout(spec).ragged() && spec.k.ragged() == spec.v.ragged();
  const bool by_token = spec.ragged_unit == RaggedUnit::token;
  const bool alike = by_token || (q_strides(spec)[2] == o_strides(spec)[2] && k_strides(spec)[2] == v_strides(spec)[2]);
  if (!is_ragged(spec))
    found.push_back({"ragged_shared", "given without a ragged layout (\"thd\")"});
  else if (!both || !alike || spec.paged)
    found.push_back(
        {"ragged_shared",
         "Q and O (or K and V) share offsets only if both are ragged and their tokens have equally many elements"});
}

void check_features(const AttentionSpec& spec, std::vector<Contradiction>& found) {
  const bool unified = spec.pattern == Pattern::sdpa_unified ||
                       (spec.pattern == Pattern::sdpa &&
                        (spec.cu_seqlens || spec.ragged_unit == RaggedUnit::token || (spec.rope && spec.rope->k)));
  if (unified && spec.dropout && (spec.dropout->form == DropoutForm::mask || spec.dropout->seed == SeedForm::constant))
    found.push_back({"dropout",
                     "the unified SDPA operation generates its mask from tensors; use pattern \"sdpa_composite\" "
                     "for your own mask or a constant seed"});
  if (spec.paged && is_bprop(spec)) found.push_back({"paged", "a paged cache has no backward pass"});
  if (spec.fp8 && !is_fp8(spec))
    found.push_back({"fp8", fmt::format("given with dtype \"{}\", which is not fp8", name_of(spec.dtype))});
  check_shared_offsets(spec, found);
  if ((spec.max_total_seqlen_q || spec.max_total_seqlen_kv) && !is_ragged(spec))
    found.push_back({spec.max_total_seqlen_q ? "max_total_seqlen_q" : "max_total_seqlen_kv",
                     "given without a ragged layout (\"thd\")"});
}

}  // namespace

std::vector<Contradiction> contradictions(const AttentionSpec& spec) {
  std::vector<Contradiction> found;
  const std::pair<const char*, int64_t> required[] = {{"heads", spec.heads_q},        {"heads_kv", spec.heads_kv},
                                                      {"seqlen", spec.seqlen_q},      {"seqlen_kv", spec.seqlen_kv},
                                                      {"head_dim", spec.head_dim_qk}, {"head_dim_v", spec.head_dim_v}};
  std::vector<std::string> missing;
  for (const auto& [field, value] : required)
    if (value == 0) missing.push_back(field);
  // If "heads" is missing, "heads_kv" is not reported too, because one number sets both.
  for (const auto* both : {"heads", "seqlen", "head_dim"})
    if (std::find(missing.begin(), missing.end(), both) != missing.end())
      std::erase_if(missing, [&](const std::string& field) { return field.starts_with(std::string(both) + "_"); });
  if (missing.size() == 1) return {{missing[0], fmt::format("\"{}\" is missing", missing[0])}};
  if (!missing.empty())
    return {{missing[0],
             fmt::format("{} are missing; for example 8 heads, seqlen 1024, head_dim 64", quoted_list(missing))}};
  if (spec.pass == Pass::fprop_train && spec.stats == false && spec.pattern != Pattern::mha)
    found.push_back({"stats", "false contradicts pass \"fprop_train\", which is the pass with statistics"});
  check_layout(spec, found);
  check_lengths(spec, "seqlens_q", spec.mask.seqlens_q, spec.seqlen_q, found);
  check_lengths(spec, "seqlens_kv", spec.mask.seqlens_kv, spec.seqlen_kv, found);
  check_pattern(spec, found);
  check_features(spec, found);
  check_newer(spec, found);
  return found;
}

}  // namespace attnprobe::attention
