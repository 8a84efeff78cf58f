#include "worker/run_plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <thread>

namespace attnprobe::worker {
namespace {

using probe::EngineConfigFindings;

// A plan takes some 0.3 s to build and a process as long to start, so that few plans are not worth a second.
constexpr size_t plans_a_builder = 4;

std::vector<EngineConfigFindings*> waiting(probe::WalkFindings& findings) {
  std::vector<EngineConfigFindings*> configs;
  for (auto& config : findings.engine_configs)
    if (config.check.supported && !config.run && (!config.plan || probe::is_built(config))) configs.push_back(&config);
  return configs;
}

probe::RunFindings lost_run(const WorkerLost& lost) {
  probe::RunFindings run;
  run.status = lost.timed_out ? probe::RunStatus::timeout : probe::RunStatus::crashed;
  run.message = fmt::format("{}; it was at: {}", lost.end.text(), lost.stage);
  return run;
}

// Builds the plan of one engine config; a worker that is lost over it is gone. One that was killed from outside says
// nothing of the plan: that goes to who asks.
void build(EngineConfigFindings& config, const Json& graph, std::unique_ptr<Client>& client) {
  try {
    config.plan = client->build(graph, config.engine, config.knobs);
  } catch (const WorkerLost& lost) {
    client.reset();
    if (lost.is_from_outside()) throw;
    config.plan = lost_plan(lost);
  } catch (const Error& e) {
    config.plan.emplace();
    config.plan->status = name_of(probe::PlanOutcome::error);
    config.plan->reasons.push_back({config.plan->status, e.what()});
  }
}

void run(EngineConfigFindings& config, const Json& graph, std::unique_ptr<Client>& client, const StartWorker& start,
         const run::RunOptions& options) {
  if (config.plan && !probe::is_built(config)) return;  // a builder was told why
  // That no fresh worker starts is not this plan's fault.
  if (!client) client = start();
  if (!config.plan) build(config, graph, client);
  if (!client || !probe::is_built(config)) return;
  try {
    run::Outcome outcome = client->run(graph, config.engine, config.knobs, options);
    config.run = std::move(outcome.run);
    config.time = std::move(outcome.time);
    if (config.run && config.run->context_lost) client.reset();
  } catch (const WorkerLost& lost) {
    client.reset();
    if (lost.is_from_outside()) throw;
    config.run = lost_run(lost);
  }
}

}  // namespace

probe::PlanFindings lost_plan(const WorkerLost& lost) {
  probe::PlanFindings plan;
  plan.status = name_of(lost.timed_out ? probe::PlanOutcome::timeout : probe::PlanOutcome::crashed);
  plan.reasons.push_back({plan.status, fmt::format("{}; it was at: {}", lost.end.text(), lost.stage)});
  return plan;
}

void build_plans(probe::WalkFindings& findings, const graph::OpGraph& graph, std::unique_ptr<Client>& client,
                 const StartWorker& start, probe::Plans plans) {
  const Json json = to_json(graph);
  findings.plans_built = plans != probe::Plans::none;
  for (auto& config : findings.engine_configs) {
    if (plans != probe::Plans::build && probe::has_working_config(findings)) return;
    if (!config.check.supported || config.plan) continue;
    if (!client) client = start();
    build(config, json, client);
  }
}

void run_plans(probe::WalkFindings& findings, const graph::OpGraph& graph, std::unique_ptr<Client>& client,
               const StartWorker& start, const RunPlan& plan) {
  const Json json = to_json(graph);
  findings.plans_built = findings.plans_run = true;
  const auto configs = waiting(findings);
  const size_t builders = std::clamp<size_t>(configs.size() / plans_a_builder, 1, std::max<size_t>(plan.builders, 1));
  const auto stopped = [&] { return plan.stop && plan.stop(); };
  if (builders == 1) {
    for (auto* config : configs)
      if (!stopped()) run(*config, json, client, start, plan.options);
    return;
  }
  // Each builder keeps what it built; then they take turns on the GPU, which is nobody's else meanwhile. One that is lost
  // among the builders is not replaced before its turn.
  std::vector<std::unique_ptr<Client>> clients(builders);
  clients[0] = std::move(client);
  for (auto& each : clients)
    if (!each) each = start();
  std::vector<std::exception_ptr> failures(builders);
  {
    std::vector<std::jthread> threads;
    for (size_t b = 0; b < builders; ++b)
      threads.emplace_back([&, b] {
        try {
          for (size_t i = b; i < configs.size() && clients[b] && !stopped(); i += builders)
            if (!configs[i]->plan) build(*configs[i], json, clients[b]);
        } catch (const Stopped&) {
          clients[b].reset();  // the loop below sees the same stop
        } catch (...) {
          failures[b] = std::current_exception();
        }
      });
  }
  for (const auto& failure : failures)
    if (failure) std::rethrow_exception(failure);
  for (size_t b = builders; b-- > 0;) {
    for (size_t i = b; i < configs.size() && !stopped(); i += builders)
      run(*configs[i], json, clients[b], start, plan.options);
    if (b > 0) clients[b].reset();
  }
  client = std::move(clients[0]);
}

}  // namespace attnprobe::worker
