#include "attention/spec.hpp"

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
  if (mask.padding_after_stats) {
    Mask usual = mask;
    usual.padding_after_stats = false;
    return mask_text(usual) + " after_stats";
  }
  if (const auto name = mask_name(mask)) return *name;
  std::string text = mask.window_right == 0 ? "causal" : "band";
  if (mask.window_left) text += fmt::format(" left {}", *mask.window_left);
  if (mask.window_right.value_or(0) > 0) text += fmt::format(" right {}", *mask.window_right);
  if (mask.alignment == Alignment::bottom_right) text += " bottom_right";
  return mask.padding ? "padding " + text : text;
}

// Each feature in a word or two, where it is asked for.
std::string features_text(const AttentionSpec& spec) {
  std::string text;
  auto add = [&](bool asked, const std::string& words) {
    if (asked) text += " " + words;
  };
  add(spec.bias.has_value(), spec.bias ? fmt::format("bias {}", spec.bias->shape) : "");
  add(spec.bias && spec.bias->grad && is_bprop(spec), "dbias");
  add(spec.alibi, "alibi");
  add(spec.softcap.has_value(), "softcap");
  add(spec.score_mod.has_value(), spec.score_mod ? fmt::format("score_mod {}", name_of(spec.score_mod->kind)) : "");
  add(spec.sink, "sink");
  add(spec.block_mask, "block_mask");
  add(spec.dropout.has_value(), spec.dropout && spec.dropout->form == DropoutForm::mask ? "dropout mask" : "dropout");
  add(spec.stats == true && spec.pass == Pass::fprop, "stats");
  add(spec.max_logit, "max_logit");
  add(spec.sum_exp, "sum_exp");
  add(spec.deterministic && is_bprop(spec), "deterministic");
  add(spec.paged.has_value(), spec.paged ? fmt::format("paged {}", spec.paged->block_size) : "");
  add(is_fp8(spec) && fp8_scaling(spec) == Fp8Scaling::mxfp8, "mxfp8");
  add(!spec.softmax, "no softmax");
  return text;
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

DataType d_output_type(const AttentionSpec& spec) {
  return spec.do_dtype.value_or(spec.dtype);
}

DataType gradient_type(const AttentionSpec& spec) {
  return spec.dqkv_dtype.value_or(output_type(spec));
}

int64_t heads_v(const AttentionSpec& spec) {
  return spec.heads_v.value_or(spec.heads_kv);
}

bool is_fp8(const AttentionSpec& spec) {
  return is_fp8(spec.dtype);
}

Fp8Scaling fp8_scaling(const AttentionSpec& spec) {
  if (spec.fp8) return *spec.fp8;
  const DataType o = output_type(spec);
  return is_fp8(o) ? Fp8Scaling::delayed : Fp8Scaling::current;
}

SeedForm seed_form(const AttentionSpec& spec) {
  return spec.dropout->seed.value_or(spec.pattern == Pattern::mha ? SeedForm::constant : SeedForm::i64);
}

bool is_ragged(const AttentionSpec& spec) {
  return spec.q.ragged() || spec.k.ragged() || spec.v.ragged() || output_layout(spec).ragged();
}

bool is_bprop(const AttentionSpec& spec) {
  return spec.pass == Pass::bprop;
}

double scale_of(const AttentionSpec& spec) {
  return spec.scale.value_or(1.0 / std::sqrt(static_cast<double>(spec.head_dim_qk)));
}

bool wants_stats(const AttentionSpec& spec) {
  // The legacy pattern trains with S itself.
  return spec.stats.value_or(spec.pass == Pass::fprop_train && spec.pattern != Pattern::mha);
}

namespace {

TensorShape q_shape(const AttentionSpec& s) {
  return {s.batch, s.heads_q, s.seqlen_q, s.head_dim_qk};
}
TensorShape k_shape(const AttentionSpec& s) {
  return {s.batch, s.heads_kv, s.seqlen_kv, s.head_dim_qk};
}
TensorShape v_shape(const AttentionSpec& s) {
  return {s.batch, heads_v(s), s.seqlen_kv, s.head_dim_v};
}
TensorShape o_shape(const AttentionSpec& s) {
  return {s.batch, s.heads_q, s.seqlen_q, s.head_dim_v};
}

}  // namespace

Strides q_strides(const AttentionSpec& spec) {
  return resolve(spec.q, q_shape(spec));
}
Strides k_strides(const AttentionSpec& spec) {
  return resolve(spec.k, k_shape(spec));
}
Strides v_strides(const AttentionSpec& spec) {
  return resolve(spec.v, v_shape(spec));
}
Strides o_strides(const AttentionSpec& spec) {
  return resolve(output_layout(spec), o_shape(spec));
}
Strides d_o_strides(const AttentionSpec& spec) {
  return resolve(spec.d_o.value_or(output_layout(spec)), o_shape(spec));
}
Strides dq_strides(const AttentionSpec& spec) {
  return resolve(spec.dq.value_or(spec.q), q_shape(spec));
}
Strides dk_strides(const AttentionSpec& spec) {
  return resolve(spec.dk.value_or(spec.k), k_shape(spec));
}
Strides dv_strides(const AttentionSpec& spec) {
  return resolve(spec.dv.value_or(spec.v), v_shape(spec));
}

std::array<int64_t, 4> bias_dims(const AttentionSpec& spec) {
  std::array<int64_t, 4> dims{spec.batch, spec.heads_q, spec.seqlen_q, spec.seqlen_kv};
  for (size_t i = 0; i < dims.size(); ++i)
    if (spec.bias->shape[i] == '1') dims[i] = 1;
  return dims;
}

std::string describe(const AttentionSpec& spec) {
  std::string text =
      fmt::format("{} {} b{} {} {} {} {}", name_of(spec.pattern), name_of(spec.pass), spec.batch,
                  pair_text("h", spec.heads_q, spec.heads_kv), pair_text("s", spec.seqlen_q, spec.seqlen_kv),
                  pair_text("d", spec.head_dim_qk, spec.head_dim_v), name_of(spec.dtype));
  if (spec.o_dtype && *spec.o_dtype != spec.dtype) text += fmt::format("->{}", name_of(*spec.o_dtype));
  const bool strided = spec.q.strides || spec.k.strides || spec.v.strides;
  const bool one_layout = !spec.q.axes.empty() && spec.q.axes == spec.k.axes && spec.k.axes == spec.v.axes;
  if (one_layout) text += " " + spec.q.axes;
  if (strided || !one_layout) text += " strided";
  if (mask_name(spec.mask) != "none") text += " " + mask_text(spec.mask);
  return text + features_text(spec);
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
        named.alignment == mask.alignment && named.padding == mask.padding &&
        named.padding_after_stats == mask.padding_after_stats)
      return name;
  return std::nullopt;
}

}  // namespace attnprobe::attention
