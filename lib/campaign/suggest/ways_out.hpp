// Ways out of a no or a but: the smallest changes after which the answer is yes, each asked of the same cuDNN for the same GPU.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "campaign/campaign.hpp"
#include "campaign/suggest/changes.hpp"

namespace attnprobe::campaign {

struct SuggestOptions {
  std::set<std::string> keep;  ///< kinds of changes that are not made
  size_t most = 3;             ///< ways for one result
  size_t most_asked = 160;     ///< questions for one result; beyond them it gives up
  bool two_at_a_time = true;   ///< where no single change is enough
  bool compile = true;         ///< the first choice of each way; else cuDNN's support check is all
};

/// Adds Answer::ways_out, and their texts to the root cause's advice, to a result that is no or but and whose config is known; does
/// nothing to any other. `options` is how it was asked. A way out of a framework's refusal gets past its gate too.
void advise(Answer& result, const PlanOptions& options, const Session& session, const SuggestOptions& suggest = {});
/// The same of each, several at a time: most of what one asks takes a few milliseconds of one core.
void advise(std::vector<Answer>& results, const PlanOptions& options, const Session& session,
            const SuggestOptions& suggest = {});

}  // namespace attnprobe::campaign
