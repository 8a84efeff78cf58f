// Engines that cudnn-frontend has of its own: open-source kernels that a graph made in Python may take where cuDNN refuses it,
// or instead of cuDNN's. Programs in C++ (PyTorch, Transformer Engine, XLA) never get them. Data:
// lib/rules/engines/cudnn-frontend-VERSION.json, from cudnn-frontend's own capability rows. Whether a kernel compiles or is
// right is not known here: nothing is asked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attention/spec.hpp"
#include "base/json.hpp"
#include "base/version.hpp"
#include "rules/requirements.hpp"

namespace attnprobe::rules {

/// One that serves a problem by cudnn-frontend's rules.
struct FrontendEngine {
  std::string frontend;  ///< version of cudnn-frontend: "1.32.0"
  std::string id;        ///< its name there: "sdpa_bwd_sm100"
  std::string what;      ///< "sm100 bprop, f16 and bf16, head dimensions above 256 (d512)"
  bool by_default = false;
  std::string switch_on;  ///< the environment variable that offers it; "" where by_default
  std::string provided;   ///< what it wants and a config does not say; "" for nothing
  std::string needs;      ///< "nvidia-cutlass-dsl 4.7.0 or newer"
  Source source;
};
ATTNPROBE_JSON(FrontendEngine, frontend, id, what, by_default, switch_on, provided, needs, source)

/// Those of that cudnn-frontend ("1.32", "1.32.0"; "": the newest that is built in) that serve the problem
/// (describe_problem), in its order. Empty for a version whose engines were not read.
std::vector<FrontendEngine> frontend_engines(const Json& problem, std::string_view version = "");

/// The same of a config on a GPU of that compute capability. Precondition: the spec has no contradictions.
std::vector<FrontendEngine> frontend_engines(const attention::AttentionSpec& spec, CudnnVersion cudnn_version, int sm,
                                             std::string_view version = "");

/// "sm100 forward, MXFP8 (sdpa_fwd_prefill_sm100_mxfp8; with CUDNN_FRONTEND_ENABLE_FROST_ENGINES=1)"
std::string text_of(const FrontendEngine& engine);

// ---- the data as it is read

/// Something that an engine does not serve.
struct EngineDecline {
  std::string reason;  ///< "a sink": follows "does not serve"
  Json when;
};

struct FrontendEngineRule {
  FrontendEngine entry;
  Json when;  ///< what it is for: family, GPUs, types
  std::vector<EngineDecline> declines;
  Examples examples;  ///< affected: it serves this
};

/// Throws Error(internal) naming file, entry and what is wrong.
std::vector<FrontendEngineRule> parse_frontend_engines(std::string_view text, const std::string& file);

/// The newest that are built in.
const std::vector<FrontendEngineRule>& frontend_engine_rules();

}  // namespace attnprobe::rules
