// From an AttentionSpec to the OpGraph that cuDNN is asked about.
#pragma once

#include "attnprobe/attention/spec.hpp"
#include "attnprobe/graph/op_graph.hpp"

namespace attnprobe::graph {

/// What a graph depends on beside the spec.
struct BuildContext {
  int64_t cudnn_version = 0;  ///< as cudnnGetVersion: 91900
};

struct BuiltGraph {
  OpGraph graph;
  attention::Pattern pattern;  ///< never Pattern::sdpa: the one that was built
  std::string choice;          ///< why, where the spec left the choice (Pattern::sdpa); else ""
};

/// The graph of `spec`. Precondition: contradictions(spec) is empty.
BuiltGraph build(const attention::AttentionSpec& spec, const BuildContext& context);

// One builder a pattern. The wiring follows cudnn-frontend 1.23 (sdpa_*) and the cuDNN backend
// documentation's "Fused Attention fprop" (mha), and was checked against cuDNN 9.19's pattern matcher:
// tests/graph_*_test.cpp.

/// O = (Q Kᵀ) V with a 16-bit virtual score tensor in F16x16 reordering.
OpGraph build_two_matmul(const attention::AttentionSpec& spec);

/// The legacy small-sequence pattern: optional scale on K, padding and causal mask, softmax without
/// statistics.
OpGraph build_mha(const attention::AttentionSpec& spec);

/// Flash attention from primitive operations.
OpGraph build_sdpa_composite(const attention::AttentionSpec& spec, const BuildContext& context);

/// The single SDPA operation.
OpGraph build_sdpa_unified(const attention::AttentionSpec& spec);

}  // namespace attnprobe::graph
