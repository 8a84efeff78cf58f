// Running the plans of one result, engine config by engine config, whatever each does to its process.
#pragma once

#include <functional>
#include <memory>

#include "probe/findings.hpp"
#include "worker/client.hpp"

namespace attnprobe::worker {

/// Starts a worker that is ready for the target; throws WorkerLost or Error where none will start.
using StartWorker = std::function<std::unique_ptr<Client>()>;

struct RunPlan {
  run::RunOptions options;
  size_t builders = 1;         ///< worker processes that build plans at a time
  std::function<bool()> stop;  ///< asked before each plan
};

/// Builds (in parallel where there are many) and runs (one at a time) every engine config of the findings that passed
/// its check and has no run yet. `client` is used and, after a loss, replaced; it may be empty afterwards. A plan that
/// takes its process down costs itself alone. Throws WorkerLost for a worker that was killed from outside; what was found
/// before stands.
void run_plans(probe::WalkFindings& findings, const graph::OpGraph& graph, std::unique_ptr<Client>& client,
               const StartWorker& start, const RunPlan& plan);

/// Only builds them, as far as `plans` says: what is left of a walk that was lost among its plans.
void build_plans(probe::WalkFindings& findings, const graph::OpGraph& graph, std::unique_ptr<Client>& client,
                 const StartWorker& start, probe::Plans plans);

/// What the loss of a worker says of the plan that it was building.
probe::PlanFindings lost_plan(const WorkerLost& lost);

}  // namespace attnprobe::worker
