// Ways out of a no or a but: the smallest changes that make the answer a yes. The same cuDNN confirms each for the same
// GPU.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ask/further/changes.hpp"
#include "ask/plan.hpp"

namespace attnprobe::asking {

/// If the answer is "no" or "but" and its config is known, adds Answer::ways_out, and their texts to the root cause's
/// advice. Otherwise does nothing. `options`: the options that the answer came from. A way out of a framework's refusal
/// must also pass its gate.
void advise(Answer& result, const PlanOptions& options, const Session& session, const SuggestOptions& suggest = {});
/// The same for several answers at once, because most questions of one result take only a few milliseconds of one core.
void advise(std::vector<Answer>& results, const PlanOptions& options, const Session& session,
            const SuggestOptions& suggest = {});

}  // namespace attnprobe::asking
