// The one entry point for questions: command line, matrix, limits, suggest, requests and library all use it.
#pragma once

#include <vector>

#include "ask/plan.hpp"

namespace attnprobe::asking {

/// Asks the cuDNN that the plan names, and returns answers by group. `on_answer` may be empty. One config on one
/// simulated GPU compiles its first choice. A passing check does not prove that a kernel exists, and one plan takes
/// only a second.
/// The rules answer for a cuDNN that is too old to simulate GPUs. The usual cache keeps the answers of other cuDNNs.
/// Never
/// throws for a crash, a hang or a broken environment of a worker: each is an answer. Throws Error(usage) if "expect"
/// names
/// an unknown GPU, or if plans are to run and every target is simulated. Throws Error(environment) if the cuDNN is
/// missing.
std::vector<Answers> ask(const Plan& plan, const Session& session = {}, const OnAnswer& on_answer = {});

}  // namespace attnprobe::asking
