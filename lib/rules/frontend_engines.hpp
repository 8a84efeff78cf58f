// cudnn-frontend's own engines: open-source kernels that Python graphs may use instead of cuDNN's. C++ programs
// (PyTorch, Transformer Engine, XLA) never use them. The data, lib/rules/engines/cudnn-frontend-VERSION.json, comes
// from cudnn-frontend's capability rows. attnprobe does not run these kernels, so it does not know whether they compile
// or are correct.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attention/spec.hpp"
#include "base/json.hpp"
#include "base/version.hpp"
#include "rules/requirements.hpp"

namespace attnprobe::rules {

/// An engine that supports a problem by cudnn-frontend's rules.
struct FrontendEngine {
  std::string frontend;  ///< version of cudnn-frontend: "1.32.0"
  std::string id;        ///< cudnn-frontend's name: "sdpa_bwd_sm100"
  std::string what;      ///< "sm100 bprop, f16 and bf16, head dimensions above 256 (d512)"
  bool by_default = false;
  std::string switch_on;  ///< the environment variable that enables it; "" if enabled by default
  std::string provided;   ///< a requirement that a config cannot express, or ""
  std::string needs;      ///< "nvidia-cutlass-dsl 4.7.0 or newer"
  Source source;
};
ATTNPROBE_JSON(FrontendEngine, frontend, id, what, by_default, switch_on, provided, needs, source)

/// The engines of that cudnn-frontend ("1.32", "1.32.0"; "": the newest built in) that support the problem
/// (describe_problem), in its order. Empty for a version with unknown engines.
std::vector<FrontendEngine> frontend_engines(const Json& problem, std::string_view version = "");

/// The same for a config and a compute capability. Precondition: the spec has no contradictions.
std::vector<FrontendEngine> frontend_engines(const attention::AttentionSpec& spec, CudnnVersion cudnn_version, int sm,
                                             std::string_view version = "");

/// "sm100 forward, MXFP8 (sdpa_fwd_prefill_sm100_mxfp8; with CUDNN_FRONTEND_ENABLE_FROST_ENGINES=1)"
std::string text_of(const FrontendEngine& engine);

// ---- data as read from the files

/// Something that an engine does not support.
struct EngineDecline {
  std::string reason;  ///< "a sink": completes "does not support …"
  Json when;
};

struct FrontendEngineRule {
  FrontendEngine entry;
  Json when;  ///< its scope: family, GPUs, types
  std::vector<EngineDecline> declines;
  Examples examples;  ///< in `affected`: the engine supports this
};

/// Throws Error(internal) naming file, entry and problem.
std::vector<FrontendEngineRule> parse_frontend_engines(std::string_view text, const std::string& file);

/// The newest built-in rules.
const std::vector<FrontendEngineRule>& frontend_engine_rules();

}  // namespace attnprobe::rules
