#include "attnprobe/diagnose/alternatives.hpp"

#include <fmt/format.h>

#include "attnprobe/attention/fields.hpp"

namespace attnprobe::diagnose {
namespace {

using attention::AttentionSpec;
using attention::Pattern;

int64_t next_multiple(int64_t value, int64_t of) {
  return (value + of - 1) / of * of;
}

bool has_strides(const AttentionSpec& spec) {
  return spec.q.strides || spec.k.strides || spec.v.strides || (spec.o && spec.o->strides);
}

}  // namespace

std::vector<Alternative> alternatives(const AttentionSpec& spec) {
  std::vector<Alternative> found;
  auto add = [&](const AttentionSpec& changed, const std::string& change) {
    if (contradictions(changed).empty()) found.push_back({changed, change});
  };
  if (spec.o_dtype && *spec.o_dtype != spec.dtype) {
    AttentionSpec changed = spec;
    changed.o_dtype.reset();
    add(changed, fmt::format("O in {}, the type of Q, K and V", name_of(spec.dtype)));
  }
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
