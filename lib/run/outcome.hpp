// The outcome of running one engine config: plain data, without CUDA.
#pragma once

#include "probe/findings.hpp"

namespace attnprobe::run {

struct Outcome {
  probe::PlanFindings plan;
  std::optional<probe::RunFindings> run;    ///< set if the plan was built
  std::optional<probe::TimeFindings> time;  ///< set if it ran without a known error
};
ATTNPROBE_JSON(Outcome, plan, run, time)

}  // namespace attnprobe::run
