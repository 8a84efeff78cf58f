// From an AttentionSpec to the OpGraph that cuDNN is asked about.
#pragma once

#include <map>

#include "attention/spec.hpp"
#include "base/version.hpp"
#include "graph/op_graph.hpp"

namespace attnprobe::build {

/// What a graph depends on beside the spec.
struct BuildContext {
  CudnnVersion cudnn_version;  ///< as cudnnGetVersion: 91900
  int sm = 0;                  ///< of the GPU, as 90; 0: not known
};

/// An engine config that cudnn-frontend builds without asking any heuristic.
struct ForcedConfig {
  int64_t engine = 0;                    ///< global index
  std::map<std::string, int64_t> knobs;  ///< by cuDNN's names: KERNEL_CFG, STAGES, …
};

struct BuiltGraph {
  graph::OpGraph graph;
  attention::Pattern pattern;  ///< never Pattern::sdpa: the one that was built
  /// Why, where the spec left the choice (Pattern::sdpa), and what cudnn-frontend changes of it; else "".
  std::string choice;
  std::optional<ForcedConfig> forced;  ///< for Pattern::sdpa, where there is one
};

/// The graph of `spec`. Precondition: contradictions(spec) is empty.
BuiltGraph build_graph(const attention::AttentionSpec& spec, const BuildContext& context);

/// What cudnn-frontend (rules::frontend_rules()) makes of `spec` for this cuDNN and GPU: pattern composite or unified, and its silent
/// changes to backward graphs. `choice` says which and why. The spec's pattern is Pattern::sdpa.
struct FrontendChoice {
  attention::AttentionSpec spec;
  std::string choice;
  std::optional<ForcedConfig> forced;
};
FrontendChoice choose_as_frontend(const attention::AttentionSpec& spec, const BuildContext& context);

// One builder a pattern and pass. The wiring follows cudnn-frontend 1.23 to 1.32 (sdpa_*) and the cuDNN backend documentation's
// "Fused Attention fprop/bprop" (mha), and was checked against cuDNN 9.19's pattern matcher:
// tests/probe/verified_walks_test.cpp.

/// O = (Q Kᵀ) V with a 16-bit virtual score tensor in F16x16 reordering.
graph::OpGraph build_two_matmul(const attention::AttentionSpec& spec);

/// The legacy small-sequence pattern.
graph::OpGraph build_mha(const attention::AttentionSpec& spec);
graph::OpGraph build_mha_backward(const attention::AttentionSpec& spec);

/// Flash attention from primitive operations; forward in every type, backward in 16 bits and in fp8.
graph::OpGraph build_sdpa_composite(const attention::AttentionSpec& spec, const BuildContext& context);
graph::OpGraph build_sdpa_composite_backward(const attention::AttentionSpec& spec, const BuildContext& context);
graph::OpGraph build_sdpa_fp8_backward(const attention::AttentionSpec& spec, const BuildContext& context);

/// The unified SDPA operation.
graph::OpGraph build_sdpa_unified(const attention::AttentionSpec& spec, const BuildContext& context);
graph::OpGraph build_sdpa_unified_backward(const attention::AttentionSpec& spec, const BuildContext& context);

}  // namespace attnprobe::build
