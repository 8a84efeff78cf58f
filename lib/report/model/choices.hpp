// The fastest correct engine config of each problem, and how much slower the heuristics' first choice is: the output of
// `attnprobe tune`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/formats/report.hpp"

namespace attnprobe::report {

/// A plan that ran correctly and was timed.
struct TimedPlan {
  const probe::EngineConfigFindings* config = nullptr;
  double median_ms = 0;
};

struct Choice {
  const answer::Answer* result = nullptr;
  TimedPlan best;
  std::optional<TimedPlan> first;  ///< the heuristics' first choice; none if it fails or was not timed
  size_t timed = 0;                ///< plans that ran correctly and were timed

  /// How much longer the first choice takes: 0.12 for 12 %. 0 if it is the fastest, or if the difference is within the
  /// noise of both measurements.
  double loss() const;
};

/// None for a result without a correct, timed plan.
std::optional<Choice> choice_of(const answer::Answer& result);

/// The total time of the first choices relative to the best ones, minus 1, over problems with both known.
double loss_over_all(const std::vector<Choice>& choices);

/// Schema "attnprobe/choices/1": one choice per problem, identified by graph hash, GPU and cuDNN, with its evidence
/// (time, error, bits). `plan_name` is the choice's name in cudnn-frontend, as from Graph::get_plan_name_at_index().
/// `emit_options` select it in a program of --emit cpp.
Json choices_json(const Results& results);

/// One line per problem, largest loss first, and the total loss.
std::string choices_text(const Results& results, const TextStyle& style);

}  // namespace attnprobe::report
