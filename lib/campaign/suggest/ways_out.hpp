// Ways out of a no or a but: the smallest changes that make the answer yes. Each was confirmed by the same cuDNN for
// the same GPU.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "campaign/plan.hpp"
#include "campaign/suggest/changes.hpp"

namespace attnprobe::campaign {

/// Adds Answer::ways_out, and their texts to the root cause's advice, to a no or a but with a known config; ignores
/// other results. `options`: how the question was asked. A way out of a framework's refusal gets past its gate too.
void advise(Answer& result, const PlanOptions& options, const Session& session, const SuggestOptions& suggest = {});
/// The same for each, several at a time: most of what one asks takes a few milliseconds of one core.
void advise(std::vector<Answer>& results, const PlanOptions& options, const Session& session,
            const SuggestOptions& suggest = {});

}  // namespace attnprobe::campaign
