#include "build/build.hpp"

namespace attnprobe::build {
namespace {

using attention::AttentionSpec;
using attention::Pattern;

graph::OpGraph build_pattern(const AttentionSpec& spec, const BuildContext& context) {
  const bool backward = is_bprop(spec);
  switch (spec.pattern) {
    case Pattern::two_matmul:
      return build_two_matmul(spec);
    case Pattern::mha:
      return backward ? build_mha_backward(spec) : build_mha(spec);
    case Pattern::sdpa_unified:
      return backward ? build_sdpa_unified_backward(spec, context) : build_sdpa_unified(spec, context);
    case Pattern::sdpa:  // choose_as_frontend() never leaves it so
    case Pattern::sdpa_composite:
      break;
  }
  if (!backward) return build_sdpa_composite(spec, context);
  return is_fp8(spec) ? build_sdpa_fp8_backward(spec, context) : build_sdpa_composite_backward(spec, context);
}

}  // namespace

BuiltGraph build_graph(const AttentionSpec& spec, const BuildContext& context) {
  if (spec.pattern != Pattern::sdpa) return {build_pattern(spec, context), spec.pattern, "", {}};
  const FrontendChoice chosen = choose_as_frontend(spec, context);
  return {build_pattern(chosen.spec, context), chosen.spec.pattern, chosen.choice, chosen.forced};
}

}  // namespace attnprobe::build
