#include "diagnose/alternatives.hpp"

#include <fmt/format.h>

#include <functional>

#include "attention/fields.hpp"

namespace attnprobe::diagnose {
namespace {

using attention::AttentionSpec;
using attention::Fp8Scaling;
using attention::Pattern;
using attention::SeedForm;

int64_t next_multiple(int64_t value, int64_t of) {
  return (value + of - 1) / of * of;
}

bool has_strides(const AttentionSpec& spec) {
  return spec.q.strides || spec.k.strides || spec.v.strides || (spec.o && spec.o->strides);
}

// Every tensor in bf16.
void to_bf16(AttentionSpec& spec) {
  spec.dtype = DataType::bf16;
  spec.o_dtype = spec.do_dtype = spec.dqkv_dtype = std::nullopt;
  spec.fp8.reset();
}

// Where it applies, a way to have less of a feature, or it in another form.
struct Relaxation {
  bool applies;
  std::string change;
  std::function<void(AttentionSpec&)> make;
};

std::vector<Relaxation> relaxations_of_types(const AttentionSpec& spec) {
  const bool mxfp8 = is_fp8(spec) && fp8_scaling(spec) == Fp8Scaling::mxfp8;
  return {
      {spec.o_dtype && *spec.o_dtype != spec.dtype && !mxfp8,
       fmt::format("O in {}, the type of Q, K and V", name_of(spec.dtype)),
       [](AttentionSpec& s) {
         s.o_dtype.reset();
         s.fp8.reset();
       }},
      {mxfp8, "one scale a tensor instead of MXFP8", [](AttentionSpec& s) { s.fp8 = Fp8Scaling::current; }},
      {is_fp8(spec), "bf16 instead of fp8", to_bf16},
      {spec.dtype == DataType::f32, "bf16 instead of f32", to_bf16},
  };
}

std::vector<Relaxation> relaxations_of_features(const AttentionSpec& spec) {
  const bool narrow_seed = spec.dropout && spec.dropout->seed && *spec.dropout->seed != SeedForm::i64;
  const bool legacy = spec.pattern == Pattern::mha;
  return {
      {narrow_seed && !legacy, "dropout's seed and offset as 64-bit tensors",
       [](AttentionSpec& s) { s.dropout->seed = SeedForm::i64; }},
      {spec.sum_exp && !spec.max_logit, "with the row maxima as an output too",
       [](AttentionSpec& s) { s.max_logit = true; }},
      {spec.max_logit || spec.sum_exp, "statistics instead of row maxima and sums",
       [](AttentionSpec& s) {
         s.max_logit = s.sum_exp = false;
         s.stats = true;
       }},
      // cuDNN 9.19 has the causal mask only with it, and backward graphs only with a mask.
      {legacy && !spec.mask.padding && (spec.mask.window_right || is_bprop(spec)),
       "with a padding mask, whose lengths may be the full ones", [](AttentionSpec& s) { s.mask.padding = true; }},
      {is_ragged(spec), "padded instead of ragged tensors",
       [](AttentionSpec& s) {
         s.q = s.k = s.v = {"bshd", {}};
         s.o = s.d_o = s.dq = s.dk = s.dv = std::nullopt;
         s.max_total_seqlen_q = s.max_total_seqlen_kv = std::nullopt;
         s.mask.padding = true;
       }},
      {is_bprop(spec) && spec.deterministic, "without determinism", [](AttentionSpec& s) { s.deterministic = false; }},
      {is_bprop(spec) && spec.bias && spec.bias->grad, "without the bias gradient",
       [](AttentionSpec& s) { s.bias->grad = false; }},
      {spec.softcap.has_value(), "without the softcap (another computation)",
       [](AttentionSpec& s) { s.softcap.reset(); }},
      {spec.score_mod.has_value(), "without the score modifier (another computation)",
       [](AttentionSpec& s) { s.score_mod.reset(); }},
  };
}

}  // namespace

std::vector<Alternative> alternatives(const AttentionSpec& spec) {
  std::vector<Alternative> found;
  auto add = [&](const AttentionSpec& changed, const std::string& change) {
    if (contradictions(changed).empty()) found.push_back({changed, change});
  };
  auto add_all = [&](const std::vector<Relaxation>& relaxations) {
    for (const auto& [applies, change, make] : relaxations) {
      if (!applies) continue;
      AttentionSpec changed = spec;
      make(changed);
      add(changed, change);
    }
  };
  add_all(relaxations_of_features(spec));
  add_all(relaxations_of_types(spec));
  // 16 bytes of a 16-bit type: what every attention engine of cuDNN asks for.
  const int64_t qk = next_multiple(spec.head_dim_qk, 8), v = next_multiple(spec.head_dim_v, 8);
  if (!has_strides(spec) && (qk != spec.head_dim_qk || v != spec.head_dim_v)) {
    AttentionSpec changed = spec;
    if (spec.pattern != Pattern::two_matmul) changed.scale = scale_of(spec);
    changed.head_dim_qk = qk;
    changed.head_dim_v = v;
    add(changed, fmt::format("head dimensions padded with zeros to {} and {}, the scale kept", qk, v));
  }
  if (has_strides(spec)) {
    AttentionSpec changed = spec;
    changed.q = changed.k = changed.v = {"bshd", {}};
    changed.o.reset();
    add(changed, "contiguous tensors in layout bshd");
  }
  if (spec.pattern != Pattern::sdpa) {
    AttentionSpec changed = spec;
    changed.pattern = Pattern::sdpa;
    const bool bare = spec.pattern == Pattern::two_matmul;
    add(changed, fmt::format("pattern \"sdpa\" instead of \"{}\"{}", name_of(spec.pattern),
                             bare ? " (another computation: it has the softmax between the matmuls)" : ""));
  }
  return found;
}

}  // namespace attnprobe::diagnose
