// Building and running the plans of one result, engine config by engine config, whatever each does to its process.
#pragma once

#include <functional>
#include <memory>

#include "probe/findings.hpp"
#include "worker/client.hpp"
#include "worker/gpu_turns.hpp"

namespace attnprobe::worker {

/// Starts a worker that is ready for the target; throws WorkerLost or Error where none will start.
using StartWorker = std::function<std::unique_ptr<Client>()>;

/// The same under another command (Client's `under`).
using StartWorkerUnder = std::function<std::unique_ptr<Client>(const std::vector<std::string>& under)>;

/// The plans of one graph, and who builds them.
struct PlanWork {
  probe::WalkFindings& findings;
  const graph::OpGraph& graph;
  std::unique_ptr<Client>& client;  ///< used and, after a loss, replaced; may be empty before and afterwards
  StartWorker start;
  GpuTurns* gpu = nullptr;                                      ///< of a GPU that others use, too
  size_t builders = 1;                                          ///< worker processes that build plans at a time
  std::function<bool()> stop = [] { return false; };            ///< asked before each plan
  std::function<void(probe::EngineConfigFindings&)> look_up{};  ///< fills in a plan that was built before; may be empty
  std::function<void(const probe::EngineConfigFindings&)> remember{};  ///< told of each that was built; may be empty
  StartWorkerUnder start_under{};                                      ///< for run::RunOptions::sanitizers
};

/// Builds those of probe::next_plan(). A plan that takes its process down costs itself alone. Throws WorkerLost for a
/// worker that was killed from outside; what was found before stands.
void build_plans(const PlanWork& work, probe::Plans plans);

/// Plans::run: builds every engine config of the findings that passed its check and has no run yet, then runs them one by
/// one in the processes that built them. Plans::run_first: builds in turn until one compiles, and runs that one. Throws
/// as build_plans().
void run_plans(const PlanWork& work, const run::RunOptions& options, probe::Plans plans = probe::Plans::run);

/// What the loss of a worker says of the plan that it was building.
probe::PlanFindings lost_plan(const WorkerLost& lost);

}  // namespace attnprobe::worker
