// The one door: asking as every way in does, command line, matrix, limits, suggest, request and library.
#pragma once

#include <vector>

#include "campaign/plan.hpp"

namespace attnprobe::campaign {

/// Asks the cuDNN that the plan names; returns answers for each group. `on_answer` may be empty.
/// One config on one simulated GPU also compiles its first choice, since a passing check is not yet a kernel. If the
/// cuDNN is too old to simulate a GPU, the rules answer. Answers of other cuDNNs are kept in the usual cache. Never
/// throws for events in a worker: a crash, a hang or a broken environment is an answer.
/// Throws Error(usage) for "expect" of an unknown GPU, and if every target is simulated but plans are to run. Throws
/// Error(environment) if there is no such cuDNN.
std::vector<Answers> ask(const Plan& plan, const Session& session = {}, const OnAnswer& on_answer = {});

}  // namespace attnprobe::campaign
