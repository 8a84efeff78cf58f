// Derives the verdict from cuDNN's findings, from the loss of the worker, or by rule. Not installed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "answer/answer.hpp"

namespace attnprobe::answer {

/// A worker that died or hung.
struct Lost {
  Crash crash;
  std::string what;      ///< one sentence
  std::string_view how;  ///< "hung", "died", "was killed from outside"
  bool timed_out = false;
  bool is_from_outside = false;  ///< the question is not the cause, and nothing is known about it
  bool is_killed = false;        ///< by SIGKILL
};

/// Sets the verdict from the findings, with its root cause. `deterministic`: the user requires it.
void judge(Answer& result, bool deterministic = false);
/// Sets the verdict after the worker was lost.
void judge_lost(Answer& result, const Lost& lost);
/// Nothing is known about the graph: the cause is the machine or one of its users (Category::environment), or
/// attnprobe.
void judge_open(Answer& result, Category category, const std::string& reason, const std::string& explanation);
/// The complete answer without cuDNN: the version rules and the gates decide.
void judge_by_rule(Answer& result, const std::vector<rules::ChosenGate>& gates, bool deterministic);

/// Completes a judged answer with version rules and the frameworks' gates, and derives the user's answer and its
/// severity. Never changes the verdict.
void complete(Answer& result, const std::vector<rules::ChosenGate>& gates);

/// The steps of complete(). Rules and gates are skipped if no cuDNN was loaded, gates also if no config builds the
/// graph. `weigh()` sets usable, but and severity.
void add_version_rules(Answer& result);
void add_frameworks(Answer& result, const std::vector<rules::ChosenGate>& gates);
void weigh(Answer& result);

/// Whether building the plan crashed or hung the process.
bool is_lost(const probe::PlanFindings& plan);
bool is_lost(const probe::RunFindings& run);

}  // namespace attnprobe::answer
