// Builds the OpGraph for cuDNN from an AttentionSpec.
#pragma once

#include <map>

#include "attention/spec.hpp"
#include "base/version.hpp"
#include "graph/op_graph.hpp"

namespace attnprobe::build {

/// The inputs of a graph other than the spec.
struct BuildContext {
  CudnnVersion cudnn_version;  ///< as from cudnnGetVersion: 91900
  int sm = 0;                  ///< of the GPU, such as 90; 0: unknown
};

/// An engine config that cudnn-frontend builds without asking a heuristic.
struct ForcedConfig {
  int64_t engine = 0;                    ///< global index
  std::map<std::string, int64_t> knobs;  ///< under cuDNN's names: KERNEL_CFG, STAGES, …
};

struct BuiltGraph {
  graph::OpGraph graph;
  attention::Pattern pattern;  ///< the pattern that was built, never Pattern::sdpa
  /// For Pattern::sdpa: why this pattern was chosen, and what cudnn-frontend changes; otherwise "".
  std::string choice;
  std::optional<ForcedConfig> forced;  ///< for Pattern::sdpa, if cudnn-frontend builds one
};

/// The graph of `spec`. Precondition: contradictions(spec) is empty.
BuiltGraph build_graph(const attention::AttentionSpec& spec, const BuildContext& context);

/// How cudnn-frontend (rules::frontend_rules()) treats `spec` for this cuDNN and GPU: pattern composite or unified, and
/// its silent changes to backward graphs. `choice` explains it. Precondition: the spec's pattern is Pattern::sdpa.
struct FrontendChoice {
  attention::AttentionSpec spec;
  std::string choice;
  std::optional<ForcedConfig> forced;
};
FrontendChoice choose_as_frontend(const attention::AttentionSpec& spec, const BuildContext& context);

// One builder per pattern and pass. The wiring follows cudnn-frontend 1.23 to 1.32 (sdpa_*) and the cuDNN backend
// documentation's "Fused Attention fprop/bprop" (mha). tests/probe/verified_walks_test.cpp checks it against cuDNN
// 9.19's pattern matcher.

/// O = (Q Kᵀ) V with a 16-bit virtual score tensor in F16x16 reordering.
graph::OpGraph build_two_matmul(const attention::AttentionSpec& spec);

/// The legacy small-sequence pattern.
graph::OpGraph build_mha(const attention::AttentionSpec& spec);
graph::OpGraph build_mha_backward(const attention::AttentionSpec& spec);

/// Flash attention from primitive operations: forward for every type, backward for 16-bit types and fp8.
graph::OpGraph build_sdpa_composite(const attention::AttentionSpec& spec, const BuildContext& context);
graph::OpGraph build_sdpa_composite_backward(const attention::AttentionSpec& spec, const BuildContext& context);
graph::OpGraph build_sdpa_fp8_backward(const attention::AttentionSpec& spec, const BuildContext& context);

/// The unified SDPA operation.
graph::OpGraph build_sdpa_unified(const attention::AttentionSpec& spec, const BuildContext& context);
graph::OpGraph build_sdpa_unified_backward(const attention::AttentionSpec& spec, const BuildContext& context);

}  // namespace attnprobe::build
