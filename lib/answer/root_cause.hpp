// Which of many reasons is the one to act on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../attention/spec.hpp"
#include "../base/json.hpp"
#include "../base/version.hpp"
#include "../probe/findings.hpp"
#include "category.hpp"

namespace attnprobe::answer {

struct RootCause {
  Category category = Category::unknown;  ///< of the known reason; for an unknown text, of the status
  std::string status;                     ///< cuDNN's, of the decisive line
  std::string reason;                     ///< that line verbatim: the innermost that is more than a wrapper
  std::optional<int64_t> engine;          ///< whose reason it is
  std::optional<std::string> mode;        ///< the first mode that proposed it; none: found outside the heuristics
  std::string explanation;                ///< in plain words
  std::string in_general;                 ///< what usually gets around such a reason; not probed for this graph
  std::vector<std::string> advice;        ///< what helps here: each was probed in this very run. A command that
                                          ///< shows it may follow on a line of its own.
};
ATTNPROBE_JSON(RootCause, category, status, reason, engine, mode, explanation, in_general, advice)

/// Why no engine config works: of the rejected configs, the one whose reason is the most decisive. What mode A proposed comes before
/// the other modes' and the swept ones, then how far the engine had come, then its rank.
RootCause root_cause(const probe::WalkFindings& findings);

/// The same of a known problem. Where its GPU does not suffice (gpu_suffices), an engine that wants one which does says
/// it before those that would not know the graph on any GPU.
RootCause root_cause(const probe::WalkFindings& findings, const attention::AttentionSpec& spec,
                     CudnnVersion cudnn_version, int sm);

/// Whether the reasons speak of the machine (driver, NVRTC, sub-library missing) and not of graph and GPU.
bool speaks_of_environment(const probe::WalkFindings& findings);

/// Whether the graph holds an operation that this cuDNN is too old for: it has no size for the descriptor, and calls
/// that an allocation failure (measured, 9.19).
bool lacks_descriptor(const probe::Failure& failure);

}  // namespace attnprobe::answer
