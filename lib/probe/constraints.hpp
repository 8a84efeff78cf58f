// What an engine config must keep to beside what cuDNN says: the asker's own limits.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "findings.hpp"

namespace attnprobe::probe {

struct Constraints {
  std::optional<int64_t> max_workspace_bytes;
  std::vector<std::string> notes;  ///< behavior or numerical notes that it must have: "SUPPORTS_CUDA_GRAPH_NATIVE_API"
  bool deterministic = false;      ///< the same bits in each run
  bool empty() const { return !max_workspace_bytes && notes.empty() && !deterministic; }
};

/// Every note that cuDNN 9.28 has a name for (cudnn_graph.h: cudnnBackendNumericalNote_t, cudnnBackendBehaviorNote_t).
const std::vector<std::string>& note_names();

/// Why runs of an engine config may differ in their bits, where none was measured and cuDNN's notes say nothing; "": they do not
/// (determinism.hpp).
using Varies = std::function<std::string(const EngineConfigFindings&)>;

/// Marks (EngineConfigFindings::left_out) the engine configs that pass cuDNN's check and do not keep to the constraints,
/// with what they have and what is allowed. Deterministic is what a run has shown to be; else what `varies` does not speak against.
void leave_out(WalkFindings& findings, const Constraints& constraints, const Varies& varies = {});

/// The first engine config that passes cuDNN's check and is left out, where it comes before all that are not: what the
/// heuristics would have chosen. nullptr: the constraints do not change the choice.
const EngineConfigFindings* displaced_choice(const WalkFindings& findings);

}  // namespace attnprobe::probe
