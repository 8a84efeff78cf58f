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
  std::string reason;                     ///< that line verbatim: the innermost line that is not only a wrapper
  std::optional<int64_t> engine;          ///< the engine with this reason
  std::optional<std::string> mode;        ///< the first mode that proposed it; none: found outside the heuristics
  std::string explanation;                ///< in plain words
  std::string in_general;                 ///< the usual workaround; not tested on this graph
  std::vector<std::string> advice;        ///< confirmed fixes: each was probed in this run. Its command may follow on a
                                          ///< separate line.
};
ATTNPROBE_JSON(RootCause, category, status, reason, engine, mode, explanation, in_general, advice)

/// Why no engine config works: the most decisive reason among the rejected configs. Order: mode A's proposals before
/// other modes' and swept configs, then how far the engine got, then its rank.
RootCause root_cause(const probe::WalkFindings& findings);

/// The same if the problem is known. If its GPU does not suffice (gpu_suffices), engines that require a better GPU come
/// before engines that know the graph on no GPU.
RootCause root_cause(const probe::WalkFindings& findings, const attention::AttentionSpec& spec,
                     CudnnVersion cudnn_version, int sm);

/// Whether the reasons are about the machine (driver, NVRTC, sub-library missing), not about graph and GPU.
bool speaks_of_environment(const probe::WalkFindings& findings);

/// Whether the graph has an operation that is too new for this cuDNN. Such a cuDNN has no size for the descriptor, so
/// it reports an allocation failure (measured with 9.19).
bool lacks_descriptor(const probe::Failure& failure);

}  // namespace attnprobe::answer
