#include "attnprobe/attention/spec.hpp"

#include <fmt/format.h>

#include <cmath>

namespace attnprobe::attention {
namespace {

Strides resolve(const TensorLayout& layout, const TensorShape& shape) {
  if (layout.strides) return *layout.strides;
  return strides_of(layout.axes, shape).value();
}

std::string pair_text(std::string_view letter, int64_t q, int64_t kv) {
  return q == kv ? fmt::format("{}{}", letter, q) : fmt::format("{}{}/{}", letter, q, kv);
}

std::string mask_text(const Mask& mask) {
  if (const auto name = mask_name(mask)) return *name;
  std::string text = mask.window_right == 0 ? "causal" : "band";
  if (mask.window_left) text += fmt::format(" left {}", *mask.window_left);
  if (mask.window_right.value_or(0) > 0) text += fmt::format(" right {}", *mask.window_right);
  if (mask.alignment == Alignment::bottom_right) text += " bottom_right";
  return mask.padding ? "padding " + text : text;
}

}  // namespace

TensorLayout output_layout(const AttentionSpec& spec) {
  if (spec.o) return *spec.o;
  // Q with strides of its own says nothing about O: cudnn-frontend's examples then use bshd.
  return {spec.q.strides ? "bshd" : without_interleave(spec.q.axes), {}};
}

DataType output_type(const AttentionSpec& spec) {
  return spec.o_dtype.value_or(spec.dtype);
}

double scale_of(const AttentionSpec& spec) {
  return spec.scale.value_or(1.0 / std::sqrt(static_cast<double>(spec.head_dim_qk)));
}

bool wants_stats(const AttentionSpec& spec) {
  return spec.stats.value_or(spec.pass == Pass::fprop_train);
}

Strides q_strides(const AttentionSpec& spec) {
  return resolve(spec.q, {spec.batch, spec.heads_q, spec.seqlen_q, spec.head_dim_qk});
}
Strides k_strides(const AttentionSpec& spec) {
  return resolve(spec.k, {spec.batch, spec.heads_kv, spec.seqlen_kv, spec.head_dim_qk});
}
Strides v_strides(const AttentionSpec& spec) {
  return resolve(spec.v, {spec.batch, spec.heads_kv, spec.seqlen_kv, spec.head_dim_v});
}
Strides o_strides(const AttentionSpec& spec) {
  return resolve(output_layout(spec), {spec.batch, spec.heads_q, spec.seqlen_q, spec.head_dim_v});
}

std::string describe(const AttentionSpec& spec) {
  std::string text =
      fmt::format("{} {} b{} {} {} {} {}", name_of(spec.pattern), name_of(spec.pass), spec.batch,
                  pair_text("h", spec.heads_q, spec.heads_kv), pair_text("s", spec.seqlen_q, spec.seqlen_kv),
                  pair_text("d", spec.head_dim_qk, spec.head_dim_v), name_of(spec.dtype));
  if (spec.o_dtype && *spec.o_dtype != spec.dtype) text += fmt::format("->{}", name_of(*spec.o_dtype));
  const bool one_layout = !spec.q.strides && !spec.k.strides && !spec.v.strides &&
                          spec.q.axes == spec.k.axes && spec.k.axes == spec.v.axes;
  text += one_layout ? " " + spec.q.axes : std::string(" strided");
  if (mask_name(spec.mask) != "none") text += " " + mask_text(spec.mask);
  return text;
}

const std::vector<std::pair<std::string, Mask>>& named_masks() {
  static const std::vector<std::pair<std::string, Mask>> masks = [] {
    Mask causal, bottom_right, padding;
    causal.window_right = 0;
    bottom_right.window_right = 0;
    bottom_right.alignment = Alignment::bottom_right;
    padding.padding = true;
    auto padded = [](Mask mask) {
      mask.padding = true;
      return mask;
    };
    return std::vector<std::pair<std::string, Mask>>{
        {"none", {}},
        {"causal", causal},
        {"causal_bottom_right", bottom_right},
        {"padding", padding},
        {"padding_causal", padded(causal)},
        {"padding_causal_bottom_right", padded(bottom_right)},
    };
  }();
  return masks;
}

std::optional<std::string> mask_name(const Mask& mask) {
  if (!mask.seqlens_q.empty() || !mask.seqlens_kv.empty()) return std::nullopt;
  for (const auto& [name, named] : named_masks())
    if (named.window_left == mask.window_left && named.window_right == mask.window_right &&
        named.alignment == mask.alignment && named.padding == mask.padding)
      return name;
  return std::nullopt;
}

}  // namespace attnprobe::attention
