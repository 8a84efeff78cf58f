// The single entry point for questions: the command line, matrix, limits, suggest, requests and the library use it.
#pragma once

#include <vector>

#include "ask/plan.hpp"

namespace attnprobe::asking {

/// Asks the cuDNN that the plan names, and returns answers by group. `on_answer` may be empty. For one config on one
/// simulated GPU, the first choice is also compiled. A passing check does not prove that a kernel exists, and one plan
/// takes only a second. The rules answer for a cuDNN that is too old to simulate GPUs. The usual cache keeps the
/// answers of other cuDNNs. A worker's crash, hang or broken environment becomes an answer, never an exception. Throws
/// Error(usage) if "expect" names an unknown GPU, or if plans are to run and every target is simulated. Throws
/// Error(environment) if the cuDNN is missing.
std::vector<Answers> ask(const Plan& plan, const Session& session = {}, const OnAnswer& on_answer = {});

}  // namespace attnprobe::asking
