// The one door: asking as every way in does, command line, matrix, limits, suggest, request and library.
#pragma once

#include <vector>

#include "campaign/plan.hpp"

namespace attnprobe::campaign {

/// Asks the cuDNN that the plan means; answers for each group. `on_answer` may be empty. One config on one simulated GPU
/// compiles its first choice, since a check that passes is not yet a kernel, and for one answer a plan's second is well
/// spent. A cuDNN too old to be asked about a GPU that is not there is answered for by rule. What other cuDNNs say is kept in
/// the usual cache. Never throws for what happens in a worker: a crash, a hang or a broken environment is an answer.
/// Throws Error(usage) for "expect" of a GPU that there is not, and where plans are to be run and every target is
/// simulated; Error(environment) where there is no such cuDNN.
std::vector<Answers> ask(const Plan& plan, const Session& session = {}, const OnAnswer& on_answer = {});

}  // namespace attnprobe::campaign
