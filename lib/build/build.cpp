#include "build/build.hpp"

#include "build/numbering.hpp"

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
    case Pattern::sdpa:  // choose_as_frontend() always replaces it
    case Pattern::sdpa_composite:
      break;
  }
  if (!backward) return build_sdpa_composite(spec, context);
  return is_fp8(spec) ? build_sdpa_fp8_backward(spec, context) : build_sdpa_composite_backward(spec, context);
}

// For offsets in tokens, each tensor needs its number of elements per token.
void count_tokens(graph::OpGraph& graph) {
  for (graph::Tensor& t : graph.tensors)
    if (t.ragged_offset && t.role != graph::Role::page_table_k && t.role != graph::Role::page_table_v)
      t.ragged_multiplier =
          t.strides[t.role == graph::Role::k_transposed || t.role == graph::Role::v_transposed ? 3 : 2];
}

graph::OpGraph build_whole(const AttentionSpec& spec, const BuildContext& context) {
  graph::OpGraph graph = build_pattern(spec, context);
  if (spec.ragged_unit == attention::RaggedUnit::token) count_tokens(graph);
  if (spec.pattern == Pattern::sdpa_composite || spec.pattern == Pattern::sdpa_unified) number_given_first(graph);
  graph.dynamic_shapes = spec.dynamic_shapes;
  graph.override_shapes = spec.override_shapes;
  return graph;
}

}  // namespace

BuiltGraph build_graph(const AttentionSpec& spec, const BuildContext& context) {
  if (spec.pattern != Pattern::sdpa) return {build_whole(spec, context), spec.pattern, "", {}};
  const FrontendChoice chosen = choose_as_frontend(spec, context);
  return {build_whole(chosen.spec, context), chosen.spec.pattern, chosen.choice, chosen.forced};
}

}  // namespace attnprobe::build
