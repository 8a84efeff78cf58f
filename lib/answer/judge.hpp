// The verdict: what became of a question, from cuDNN's findings, from how its worker was lost, or by rule. Not installed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "answer/answer.hpp"

namespace attnprobe::answer {

/// A worker that died or hung over a question.
struct Lost {
  Crash crash;
  std::string what;      ///< in a sentence
  std::string_view how;  ///< "hung", "died", "was killed from outside"
  bool timed_out = false;
  bool is_from_outside = false;  ///< not by what it was asked: nothing is known of that
  bool is_killed = false;        ///< by SIGKILL
};

/// The verdict that the findings say, with its root cause. `deterministic`: the asker demands it.
void judge(Answer& result, bool deterministic = false);
/// The verdict where the worker was lost.
void judge_lost(Answer& result, const Lost& lost);
/// Nothing is known of the graph: the machine or somebody on it is to blame (Category::environment), or attnprobe is.
void judge_open(Answer& result, Category category, const std::string& reason, const std::string& explanation);
/// The whole answer where cuDNN is not asked: the version rules and the gates decide.
void judge_by_rule(Answer& result, const std::vector<rules::ChosenGate>& gates, bool deterministic);

/// Completes a judged answer: version rules, the frameworks' gates, and from all of it what a person wants to know
/// and how grave it is. Never changes the verdict.
void complete(Answer& result, const std::vector<rules::ChosenGate>& gates);

/// The steps of complete(). Rules and gates are left out where no cuDNN was loaded, gates also for a graph that no config
/// builds. weigh() sets usable, but and severity.
void add_version_rules(Answer& result);
void add_frameworks(Answer& result, const std::vector<rules::ChosenGate>& gates);
void weigh(Answer& result);

/// Whether the process was lost over it.
bool is_lost(const probe::PlanFindings& plan);
bool is_lost(const probe::RunFindings& run);

}  // namespace attnprobe::answer
