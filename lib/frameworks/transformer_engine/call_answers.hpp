// `probe --te`: Transformer Engine's calls as configs, and the results as answers for those calls.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "ask/plan.hpp"
#include "base/version.hpp"
#include "frameworks/transformer_engine/calls.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::frameworks {

/// Configs and their targets.
struct TargetGroup {
  std::vector<attention::AttentionConfig> configs;
  std::vector<gpu::Target> targets;
};

/// The graphs of these calls. If ragged graphs differ between targets, the targets form two groups.
std::vector<TargetGroup> transformer_engine_groups(const std::vector<TransformerEngineQuery>& queries,
                                                   const std::vector<gpu::Target>& targets, CudnnVersion cudnn_version);

/// One pass of a call on a target.
struct TransformerEnginePass {
  std::string pass;    ///< "forward", "backward"
  std::string config;  ///< the config of the result; "" if Transformer Engine builds no graph
  const answer::Answer* result = nullptr;
};

/// The answer of nvte_get_fused_attn_backend for one call on one target.
struct TransformerEngineAnswer {
  const TransformerEngineQuery* query = nullptr;
  std::string target;
  std::string backend;  ///< "F16_arbitrary_seqlen", "FP8", "No_Backend"; "unknown" if cuDNN gave no answer
  std::string why;      ///< the first rule or reason against it, or the engines that run it
  std::vector<TransformerEnginePass> passes;
  std::vector<TransformerEngineRefusal> refusals;
  std::vector<TransformerEngineNote> changed, not_seen;
};

/// Calls in order, each with every target that has a result for it.
std::vector<TransformerEngineAnswer> transformer_engine_answers(const std::vector<TransformerEngineQuery>& queries,
                                                                const std::vector<gpu::Target>& targets,
                                                                const report::Results& results,
                                                                CudnnVersion cudnn_version);

/// The member "transformer_engine" of a JSON report.
Json to_json(const std::vector<TransformerEngineAnswer>& answers);
std::string transformer_engine_text(const std::vector<TransformerEngineAnswer>& answers, size_t width);

/// Whether a call has no backend on a target. Lost answers do not count; the results report them.
bool lacks_backend(const std::vector<TransformerEngineAnswer>& answers);

}  // namespace attnprobe::frameworks
