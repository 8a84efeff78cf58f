// The known bugs as experiments: what became of one, and what that says of its entry.
#pragma once

#include <string>

#include "answer/answer.hpp"
#include "rules/bug_sightings.hpp"

namespace attnprobe::campaign {

using answer::Answer;
using answer::Verdict;

/// What became of an engine config: of its run, else of its plan, and the words for it; "" for a run that is right. Precondition:
/// a plan was built or tried.
rules::Seen seen_of(const probe::EngineConfigFindings& config);
std::string words_of(const probe::EngineConfigFindings& config);

/// What the result of a bug's experiment shows: the worst that became of a plan that the heuristics propose. `driver` and
/// `date` as in the sighting. Of a simulated GPU nothing runs: a plan that compiles is Seen::not_run there.
rules::BugSighting sighting_of(const std::string& bug, const Answer& result, const std::string& driver,
                               const std::string& date);

/// A sighting beside what the entry says.
enum class Agreement {
  as_known,      ///< seen where the entry has it, or not seen where it has not
  not_shown,     ///< the entry has it here and all is right: it is stale, or wants other data
  also_here,     ///< seen, and the entry does not say so of this cuDNN or GPU
  not_answered,  ///< refused, or not run
};
ATTNPROBE_ENUM(Agreement, as_known, not_shown, also_here, not_answered)

/// `known`: the bugs that concern the experiment's config on that cuDNN and GPU. One of another name explains what is
/// seen, too.
Agreement agreement_of(const rules::BugSighting& sighting, const std::vector<rules::KnownBug>& known);

}  // namespace attnprobe::campaign
