// Builds and runs the plans of one result, one engine config at a time, even if some crash their process.
#pragma once

#include <functional>
#include <memory>

#include "probe/findings.hpp"
#include "worker/client.hpp"
#include "worker/gpu_turns.hpp"

namespace attnprobe::worker {

/// Starts a worker that is ready for the target; throws WorkerLost or Error if none starts.
using StartWorker = std::function<std::unique_ptr<Client>()>;

/// The same, under another command (Client's `under`).
using StartWorkerUnder = std::function<std::unique_ptr<Client>(const std::vector<std::string>& under)>;

/// The plans of one graph, and their builders.
struct PlanWork {
  probe::WalkFindings& findings;
  const graph::OpGraph& graph;
  std::unique_ptr<Client>& client;  ///< replaced after a loss; may be empty
  StartWorker start;
  GpuTurns* gpu = nullptr;                                      ///< turns on a GPU that other workers also use
  size_t builders = 1;                                          ///< number of worker processes that build plans at a
                                                                ///< time
  std::function<bool()> stop = [] { return false; };            ///< checked before each plan
  std::function<void(probe::EngineConfigFindings&)> look_up{};  ///< supplies a plan that was built before; may be empty
  std::function<void(const probe::EngineConfigFindings&)> remember{};  ///< called for each built plan; may be empty
  StartWorkerUnder start_under{};                                      ///< starts workers for
                                                                       ///< run::RunOptions::sanitizers
};

/// Builds the plans of probe::next_plan(). If a plan crashes its process, only that plan is lost. Throws WorkerLost if
/// a worker was killed from outside; earlier findings remain.
void build_plans(const PlanWork& work, probe::Plans plans);

/// With Plans::run, builds every engine config of the findings that passed its check and has not run. Then runs them
/// one by one in the processes that built them. With Plans::run_first, builds in order until one compiles, and runs
/// that plan. Throws like build_plans().
void run_plans(const PlanWork& work, const run::RunOptions& options, probe::Plans plans = probe::Plans::run);

/// The findings for a plan whose worker was lost while building it.
probe::PlanFindings lost_plan(const WorkerLost& lost);

}  // namespace attnprobe::worker
