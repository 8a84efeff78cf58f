// What one engine config came to when it was run: plain data, with no need of CUDA.
#pragma once

#include "probe/findings.hpp"

namespace attnprobe::run {

struct Outcome {
  probe::PlanFindings plan;
  std::optional<probe::RunFindings> run;    ///< where the plan was built
  std::optional<probe::TimeFindings> time;  ///< where it ran and is not known to be wrong
};
ATTNPROBE_JSON(Outcome, plan, run, time)

}  // namespace attnprobe::run
