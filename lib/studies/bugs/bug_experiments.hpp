// Experiments for known bugs: the outcome of an experiment, and what it means for the bug's entry.
#pragma once

#include <string>

#include "answer/answer.hpp"
#include "rules/bug_sightings.hpp"

namespace attnprobe::studies {

using answer::Answer;
using answer::Verdict;

/// The outcome of an engine config, from its run or otherwise its plan, with a description; "" for a correct run.
/// Precondition: a plan was built or tried.
rules::Seen seen_of(const probe::EngineConfigFindings& config);
std::string words_of(const probe::EngineConfigFindings& config);

/// The sighting from a bug's experiment: the worst outcome of the plans that the heuristics propose. `driver` and
/// `date` as in the sighting. On a simulated GPU nothing runs: a plan that compiles is Seen::not_run.
rules::BugSighting sighting_of(const std::string& bug, const answer::Answer& result, const std::string& driver,
                               const std::string& date);

/// A sighting compared with the bug's entry.
enum class Agreement {
  as_known,      ///< seen as the entry expects, or not seen as it expects
  not_shown,     ///< expected, but all results are right: the entry is stale, or needs other data
  also_here,     ///< seen, but the entry does not include this cuDNN or GPU
  not_answered,  ///< refused, or not run
};
ATTNPROBE_ENUM(Agreement, as_known, not_shown, also_here, not_answered)

/// `known`: the bugs that affect the experiment's config on that cuDNN and GPU. Another of these bugs also explains the
/// outcome.
Agreement agreement_of(const rules::BugSighting& sighting, const std::vector<rules::KnownBug>& known);

}  // namespace attnprobe::studies
