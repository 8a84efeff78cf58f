// cudnn-frontend 1.23's choice between the composite graph and the unified SDPA operation (node/sdpa_support_surface.h,
// verify_sdpa_support_surface_for_implementation), and what it changes of a backward graph without being asked
// (node/scaled_dot_product_flash_attention.h, pre_validate_node).
#include <fmt/format.h>

#include "base/version.hpp"
#include "build/build.hpp"

namespace attnprobe::build {
namespace {

using attention::Alignment;
using attention::AttentionSpec;
using attention::DropoutForm;
using attention::Pattern;

// Something that the unified operation takes only from a version on, or never.
struct Need {
  bool asked;
  CudnnVersion version;
  const char* what;
};

constexpr CudnnVersion never;

// In cudnn-frontend's order; before all of them stands first_with_unified.
std::vector<Need> needs_of_unified(const AttentionSpec& s) {
  const bool drawn = s.dropout && s.dropout->form == DropoutForm::philox;
  return {
      {s.dropout && s.dropout->form == DropoutForm::mask, never, "dropout mask of the caller's"},
      {s.block_mask, {9, 14, 0}, "a block mask"},
      {s.paged.has_value(), {9, 15, 0}, "a paged cache"},
      {s.bias.has_value(), {9, 21, 0}, "a bias"},
      {s.sink, {9, 21, 0}, "a sink"},
      {s.max_logit || s.sum_exp, {9, 21, 0}, "maxima or sums as outputs"},
      {s.alibi, {9, 21, 0}, "ALiBi"},
      {s.mask.padding, {9, 15, 0}, "sequence lengths"},
      {s.mask.has_diagonal(), {9, 21, 0}, "diagonal masks"},
      // Alignment counts without a bound too.
      {s.mask.alignment != Alignment::top_left, {9, 21, 0}, "a bottom-right diagonal"},
      {drawn, {9, 22, 0}, "dropout"},
      {drawn && wants_stats(s), never, "dropout together with statistics"},
      {s.softcap || s.score_mod, {9, 21, 0}, "a score modifier"},
      {is_fp8(s), never, "fp8"},
  };
}

constexpr CudnnVersion first_with_unified{9, 13, 1};

FrontendChoice forward(AttentionSpec spec, const BuildContext& context) {
  if (context.cudnn_version < first_with_unified) {
    spec.pattern = Pattern::sdpa_composite;
    return {
        spec, fmt::format("composite: the unified SDPA operation needs cuDNN {}", first_with_unified.short_text()), {}};
  }
  for (const auto& [asked, version, what] : needs_of_unified(spec)) {
    if (!asked || (version != never && context.cudnn_version >= version)) continue;
    spec.pattern = Pattern::sdpa_composite;
    if (version == never) return {spec, fmt::format("composite: cudnn-frontend's unified form has no {}", what), {}};
    return {spec,
            fmt::format("composite: the unified SDPA operation takes {} only from cuDNN {}", what, version.short_text()),
            {}};
  }
  spec.pattern = Pattern::sdpa_unified;
  return {spec, "unified: cudnn-frontend uses the unified SDPA operation where it can", {}};
}

// cudnn-frontend drops the token counts where cuDNN can't use them; the workspace is then that of the padded size.
bool drops_token_counts(const AttentionSpec& spec, const BuildContext& context) {
  const int major = context.sm / 10;
  return context.cudnn_version < CudnnVersion{9, 6, 0} || spec.head_dim_qk % 16 != 0 || spec.head_dim_v % 16 != 0 ||
         (context.cudnn_version >= CudnnVersion{9, 18, 1} && (major == 8 || major == 12));
}

// Blackwell's deterministic kernel is behind one engine config that no heuristic proposes; cudnn-frontend names it
// itself (override_heuristics_query in both backward nodes).
std::optional<ForcedConfig> forced_config(const AttentionSpec& spec, const BuildContext& context) {
  if (context.sm / 10 != 10) return std::nullopt;
  const bool fp8 = is_fp8(spec);
  // In fp8 cudnn-frontend turns determinism on by itself.
  const bool always =
      fp8 && (fp8_scaling(spec) == attention::Fp8Scaling::mxfp8 || (spec.head_dim_qk <= 192 && spec.head_dim_v <= 128));
  if (!spec.deterministic && !always) return std::nullopt;
  if (context.cudnn_version < (fp8 ? CudnnVersion{9, 19, 0} : CudnnVersion{9, 18, 0})) return std::nullopt;
  const bool beyond_b300 = context.sm > 103;
  ForcedConfig config;
  config.engine = beyond_b300 ? 17 : 5;
  if (context.cudnn_version >= CudnnVersion{9, 23, 0})
    config.knobs = {{"TILE_M", 3}, {"TILE_N", 2}, {"KERNEL_CFG", 2}, {"STREAM_K", 0}, {"TILE_CGA_M", 0}, {"STAGES", 2}};
  else
    config.knobs = {{"KERNEL_CFG", 31}, {"STAGES", 2}};
  return config;
}

FrontendChoice backward(AttentionSpec spec, const BuildContext& context) {
  spec.pattern = Pattern::sdpa_composite;
  std::string choice = "composite: cudnn-frontend 1.23 has no other backward form";
  const auto forced = forced_config(spec, context);
  if (forced) choice += "; it builds one engine config here and asks no heuristic (mode FRONTEND)";
  if (is_fp8(spec)) return {spec, choice, forced};
  if (context.cudnn_version <= CudnnVersion{9, 15, 0} && spec.seqlen_kv % 128 != 0 && !spec.mask.padding &&
      !is_ragged(spec)) {
    spec.mask.padding = true;
    choice += "; up to cuDNN 9.15.0 it adds a padding mask where seqlen_kv is not a multiple of 128";
  }
  if ((spec.max_total_seqlen_q || spec.max_total_seqlen_kv) && drops_token_counts(spec, context)) {
    spec.max_total_seqlen_q = spec.max_total_seqlen_kv = std::nullopt;
    choice += "; it drops max_total_seqlen for this cuDNN, GPU or head dimension";
  }
  return {spec, choice, forced};
}

}  // namespace

FrontendChoice choose_as_frontend(const AttentionSpec& spec, const BuildContext& context) {
  return is_bprop(spec) ? backward(spec, context) : forward(spec, context);
}

}  // namespace attnprobe::build
