// What asking.cpp needs to ask, and to read answers. Only for the files that ask.
#pragma once

#include <string>
#include <vector>

#include "ask/ask.hpp"
#include "explain/asking.hpp"

namespace attnprobe::explain {

/// Support checks of the heuristics' choices only.
asking::PlanOptions options_for(const std::vector<rules::ChosenGate>& gates);

/// The ids of the refusals, which do not depend on sizes; empty if accepted.
std::vector<std::string> refusals_of(const answer::Answer& result);

/// Whether the bug has this symptom.
bool shows_so(const rules::KnownBug& bug, Trouble trouble);

/// By rule, the first cuDNN 9 that neither refuses it nor has a known bug there.
FirstCudnn first_cudnn(const answer::Question& question, const gpu::Target& target,
                       const std::vector<rules::ChosenGate>& gates);

/// Of a need that Hopper and datacenter Blackwell meet, the one without another obstacle with this cuDNN, by rule. "" if
/// both fit, or for other needs.
std::string fitting_gpu(const answer::Question& question, const answer::Answer& refused,
                        const std::vector<rules::ChosenGate>& gates);

/// By rule, the first later cuDNN that neither refuses it nor has a known bug there, otherwise the last earlier one;
/// unknown: none.
CudnnVersion lifting_version(const answer::Question& question, const answer::Answer& refused,
                             const std::vector<rules::ChosenGate>& gates);

}  // namespace attnprobe::explain
