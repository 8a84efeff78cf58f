// The one door: asking as every way in does, command line, matrix, limits, suggest, request and library.
#pragma once

#include <vector>

#include "ask/plan.hpp"

namespace attnprobe::asking {

/// Asks the cuDNN that the plan names, and returns answers by group. `on_answer` may be empty. One config on one
/// simulated GPU compiles its first choice. A check is not yet a kernel, and one plan takes a second.
/// The rules answer for a cuDNN that is too old to simulate GPUs. The usual cache keeps the answers of other cuDNNs. Never
/// throws for a crash, a hang or a broken environment of a worker: each is an answer. Throws Error(usage) if "expect" names
/// an unknown GPU, or if plans are to run and every target is simulated. Throws Error(environment) if the cuDNN is missing.
std::vector<Answers> ask(const Plan& plan, const Session& session = {}, const OnAnswer& on_answer = {});

}  // namespace attnprobe::asking
