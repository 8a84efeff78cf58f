// Which engine config of each problem was the fastest that computes what the graph says, and what the heuristics' first
// choice loses to it: what `attnprobe tune` writes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/formats/report.hpp"

namespace attnprobe::report {

/// A plan that ran right and was timed.
struct TimedPlan {
  const probe::EngineConfigFindings* config = nullptr;
  double median_ms = 0;
};

struct Choice {
  const answer::Answer* result = nullptr;
  TimedPlan best;
  std::optional<TimedPlan> first;  ///< the heuristics' first choice; none where it fails or was not timed
  size_t timed = 0;                ///< plans that ran right and were timed

  /// How much longer the first choice takes: 0.12 for 12 %. 0 where it is the best, or where the difference is within
  /// the noise of the two measurements.
  double loss() const;
};

/// None for a result that no timed plan is right for.
std::optional<Choice> choice_of(const answer::Answer& result);

/// Over all: the time of the first choices over that of the best, less 1, for problems where both are known.
double loss_over_all(const std::vector<Choice>& choices);

/// Schema "attnprobe/choices/1": a choice a problem, found by graph hash, GPU and cuDNN, with its proof (time, error,
/// bits), its name in cudnn-frontend (`plan_name`, as Graph::get_plan_name_at_index() has it) and the words by which
/// a program of --emit cpp takes it (`emit_options`).
Json choices_json(const Results& results);

/// A line a problem, the dearest loss first, and the loss over all.
std::string choices_text(const Results& results, const TextStyle& style);

}  // namespace attnprobe::report
