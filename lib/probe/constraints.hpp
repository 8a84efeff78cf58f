// Constraints of the user on engine configs, in addition to cuDNN's checks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "probe/findings.hpp"

namespace attnprobe::probe {

struct Constraints {
  std::optional<int64_t> max_workspace_bytes;
  std::vector<std::string> notes;  ///< required behavior or numerical notes: "SUPPORTS_CUDA_GRAPH_NATIVE_API"
  bool deterministic = false;      ///< the same bits in each run
  bool empty() const { return !max_workspace_bytes && notes.empty() && !deterministic; }
};

/// Every note that cuDNN 9.28 has a name for (cudnn_graph.h: cudnnBackendNumericalNote_t, cudnnBackendBehaviorNote_t).
const std::vector<std::string>& note_names();

/// Why runs of an engine config may differ in their bits (determinism.hpp); "": they do not. Called only if runs did
/// not measure it and cuDNN's notes do not mention it.
using Varies = std::function<std::string(const EngineConfigFindings&)>;

/// Marks (EngineConfigFindings::left_out) engine configs that pass cuDNN's check but break the constraints, with their
/// value and what is allowed. Determinism is decided by runs; without runs, by `varies`.
void leave_out(WalkFindings& findings, const Constraints& constraints, const Varies& varies = {});

/// The excluded engine config that passes cuDNN's check and precedes all remaining ones: the heuristics' own choice.
/// nullptr: the constraints do not change the choice.
const EngineConfigFindings* displaced_choice(const WalkFindings& findings);

}  // namespace attnprobe::probe
