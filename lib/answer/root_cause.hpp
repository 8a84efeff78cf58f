// Chooses the reason to act on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "answer/category.hpp"
#include "attention/spec.hpp"
#include "base/json.hpp"
#include "base/version.hpp"
#include "probe/findings.hpp"

namespace attnprobe::answer {

struct RootCause {
  Category category = Category::unknown;  ///< of the known reason; for an unknown text, of the status
  std::string status;                     ///< cuDNN's, of the decisive line
  std::string reason;                     ///< that line verbatim: the innermost that is more than a wrapper
  std::optional<int64_t> engine;          ///< the engine with this reason
  std::optional<std::string> mode;        ///< the first mode that proposed it; none: found outside the heuristics
  std::string explanation;                ///< in plain words
  std::string in_general;                 ///< the usual workaround; not probed for this graph
  std::vector<std::string> advice;        ///< confirmed fixes: each was probed in this run. A command that shows it may
                                          ///< follow on a separate line.
};
ATTNPROBE_JSON(RootCause, category, status, reason, engine, mode, explanation, in_general, advice)

/// Why no engine config works: the most decisive reason among the rejected configs. Mode A's proposals come before the
/// other modes' and the swept ones; then it counts how far the engine got, then its rank.
RootCause root_cause(const probe::WalkFindings& findings);

/// The same for a known problem. If its GPU does not suffice (gpu_suffices), an engine that requires a better GPU is
/// preferred. Engines that do not know the graph on any GPU come after it.
RootCause root_cause(const probe::WalkFindings& findings, const attention::AttentionSpec& spec,
                     CudnnVersion cudnn_version, int sm);

/// Whether the reasons are about the machine (driver, NVRTC, sub-library missing), not about graph and GPU.
bool speaks_of_environment(const probe::WalkFindings& findings);

/// Whether the graph has an operation that this cuDNN is too old for. It then has no size for the descriptor, and
/// reports an allocation failure (measured, 9.19).
bool lacks_descriptor(const probe::Failure& failure);

}  // namespace attnprobe::answer
