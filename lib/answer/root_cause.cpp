#include "answer/root_cause.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <tuple>

#include "answer/reasons.hpp"
#include "base/version.hpp"
#include "log/status.hpp"
#include "rules/requirements.hpp"

namespace attnprobe::answer {
namespace {

using probe::EngineConfigFindings;
using probe::Reason;

// The plan's failure if the check passed, otherwise the check's failure.
const std::vector<Reason>& reasons_of(const EngineConfigFindings& config) {
  return config.check.supported && config.plan ? config.plan->reasons : config.reasons;
}

// Without a logged reason, the status decides.
Reason cause_of(const EngineConfigFindings& config) {
  if (const Reason* decisive = decisive_reason(reasons_of(config))) return *decisive;
  return {config.check.supported && config.plan ? config.plan->status : config.check.status, ""};
}

Category category_of(const Reason& reason) {
  const KnownReason* known = find_reason(reason);
  return known != nullptr ? known->category : category_of_status(reason.status);
}

int progress_of(const Reason& reason) {
  if (const KnownReason* known = find_reason(reason)) return known->progress;
  // An unknown text with a specific status is probably a detail of a recognised graph.
  const Category category = category_of_status(reason.status);
  if (category == Category::arch_mismatch) return 1;
  if (category == Category::graph_pattern) return 10;
  return category == Category::unknown ? 11 : 20;
}

RootCause from_reason(const Reason& reason) {
  RootCause cause;
  cause.status = reason.status;
  cause.reason = reason.reason;
  cause.category = category_of(reason);
  if (const KnownReason* known = find_reason(reason)) {
    cause.explanation = known->meaning;
    cause.in_general = known->help;
  } else {
    cause.explanation = reason.reason.empty() ? "cuDNN gave this status and logged no reason."
                                              : "This message of cuDNN is not in attnprobe's catalogue.";
  }
  return cause;
}

RootCause from_failure(const probe::Failure& failure) {
  RootCause cause;
  cause.status = failure.cudnn.status;
  cause.reason = failure.cudnn.last_error.empty() ? failure.message : failure.cudnn.last_error;
  cause.category = category_of_status(failure.cudnn.status);
  const std::string at = failure.stage.empty() ? "" : ", at " + failure.stage;
  cause.explanation = fmt::format("cuDNN refuses the graph itself{}: {}", at, failure.message);
  const KnownReason* known = find_reason({cause.status, cause.reason});
  if (known != nullptr && !known->wrapper) {
    cause.category = known->category;
    cause.explanation = fmt::format("{} ({})", known->meaning, cause.explanation);
    cause.in_general = known->help;
  }
  if (lacks_descriptor(failure)) {
    cause.category = Category::version;
    cause.explanation = fmt::format("This cuDNN does not have {}: a later version added the operation. {}",
                                    failure.cudnn.descriptor, cause.explanation);
  }
  return cause;
}

RootCause no_candidates(const probe::WalkFindings& findings) {
  RootCause cause;
  cause.category = Category::no_candidates;
  cause.explanation =
      "No heuristic mode proposes any engine config for this graph on this GPU, and no engine supports it.";
  for (const auto& mode : findings.modes) {
    const Reason* decisive = decisive_reason(mode.reasons);
    if (decisive == nullptr) continue;
    cause = from_reason(*decisive);
    cause.mode = mode.mode;
    return cause;
  }
  for (const auto& engine : findings.engines) {
    const Reason* decisive = decisive_reason(engine.reasons);
    if (decisive == nullptr) continue;
    cause.status = decisive->status;
    cause.reason = decisive->reason;
    cause.engine = engine.engine;
    break;
  }
  return cause;
}

// The rejected engine config with the most decisive accepted reason; nullptr if there is none. Proposals of heuristics
// come before swept configs, and mode A's before other modes', because cuDNN selected them for this graph. Then the
// furthest stage decides, then the better rank.
template <class Accept>
const EngineConfigFindings* most_decisive(const probe::WalkFindings& findings, Accept&& accept) {
  const EngineConfigFindings* best = nullptr;
  std::tuple<bool, bool, int, int64_t> best_key;
  for (const auto& config : findings.engine_configs) {
    const Reason cause = cause_of(config);
    if (probe::works(config, findings) || !accept(cause)) continue;
    const bool from_a = std::find(config.modes.begin(), config.modes.end(), "A") != config.modes.end();
    int64_t rank = 1'000'000;
    for (const auto& [mode, place] : config.rank) rank = std::min(rank, place);
    const auto key = std::tuple(config.modes.empty(), !from_a, -progress_of(cause), rank);
    if (best != nullptr && !(key < best_key)) continue;
    best = &config;
    best_key = key;
  }
  return best;
}

RootCause from_config(const EngineConfigFindings& config) {
  RootCause cause = from_reason(cause_of(config));
  cause.engine = config.engine;
  if (!config.modes.empty()) cause.mode = config.modes.front();
  return cause;
}

// 90 for "only Hopper is supported for this engine at: !(900 <= deviceVer && …)". The lowest compute capability that
// the engine needs; 0 if the reason names none.
int wanted_sm(const Reason& reason) {
  constexpr std::string_view bound = " <= deviceVer";
  const size_t end = reason.reason.find(bound);
  if (end == std::string::npos || category_of(reason) != Category::arch_mismatch) return 0;
  size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(reason.reason[begin - 1])) != 0) --begin;
  int version = 0;
  std::from_chars(reason.reason.data() + begin, reason.reason.data() + end, version);
  return version / 10;
}

}  // namespace

bool lacks_descriptor(const probe::Failure& failure) {
  return failure.cudnn.call == "cudnnBackendCreateDescriptor" &&
         failure.cudnn.last_error.find("getSizeOfDescriptor") != std::string::npos;
}

RootCause root_cause(const probe::WalkFindings& findings) {
  if (findings.failure) return from_failure(*findings.failure);
  const EngineConfigFindings* best = most_decisive(findings, [](const Reason&) { return true; });
  return best != nullptr ? from_config(*best) : no_candidates(findings);
}

RootCause root_cause(const probe::WalkFindings& findings, const attention::AttentionSpec& spec,
                     CudnnVersion cudnn_version, int sm) {
  RootCause cause = root_cause(findings);
  if (cause.category != Category::graph_pattern || rules::gpu_suffices(spec, cudnn_version, sm)) return cause;
  const EngineConfigFindings* of_gpu = most_decisive(findings, [&](const Reason& reason) {
    const int wanted = wanted_sm(reason);
    return wanted > sm && rules::gpu_suffices(spec, cudnn_version, wanted);
  });
  return of_gpu != nullptr ? from_config(*of_gpu) : cause;
}

bool speaks_of_environment(const probe::WalkFindings& findings) {
  // Only the decisive line counts: cuDNN 9.8 to 9.10 reports the status INCOMPATIBLE_CUDART for lines about fp8 and the
  // lines around them.
  auto of_environment = [](const std::vector<Reason>& traceback) {
    const Reason* decisive = decisive_reason(traceback);
    return decisive != nullptr && category_of(*decisive) == Category::environment;
  };
  for (const auto& config : findings.engine_configs)
    if (of_environment(reasons_of(config))) return true;
  for (const auto& mode : findings.modes)
    if (of_environment(mode.reasons)) return true;
  return findings.failure && category_of_status(findings.failure->cudnn.status) == Category::environment;
}

}  // namespace attnprobe::answer
