#include "worker/run_plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>

#include "worker/sanitize.hpp"

namespace attnprobe::worker {
namespace {

using probe::EngineConfigFindings;

// Building a plan takes about 0.3 s and starting a process as long, so few plans do not need a second process.
constexpr size_t plans_a_builder = 4;

probe::RunFindings lost_run(const WorkerLost& lost) {
  probe::RunFindings run;
  run.status = lost.timed_out ? probe::RunStatus::timeout : probe::RunStatus::crashed;
  run.message = fmt::format("{}; it was at: {}", lost.end.text(), lost.stage.text);
  return run;
}

// Builds the plan of one engine config, which may crash the worker. If it was killed from outside, nothing is known
// about the plan, and the caller gets the exception.
void build(const PlanWork& work, EngineConfigFindings& config, const Json& graph, std::unique_ptr<Client>& client,
           bool keep) {
  if (!client) client = work.start();  // a worker that fails to start is not this plan's fault
  const GpuTurns::Held held = work.gpu != nullptr ? work.gpu->build() : GpuTurns::Held();
  try {
    config.plan = client->build(graph, config.engine, config.knobs, keep);
    // NVRTC may be installed later.
    if (work.remember && outcome_of(*config.plan) != probe::PlanOutcome::needs_compiler) work.remember(config);
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

bool is_to_run(const EngineConfigFindings& config) {
  return !config.plan || probe::is_built(config);
}

void run(const PlanWork& work, EngineConfigFindings& config, const Json& graph, std::unique_ptr<Client>& client,
         const run::RunOptions& options) {
  if (!is_to_run(config)) return;  // the builder's error says why
  if (!client) client = work.start();
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

// The building processes; the first is the caller's own.
class Builders {
 public:
  Builders(const PlanWork& work, size_t plans)
      : work_(work), clients_(std::clamp<size_t>(plans / plans_a_builder, 1, std::max<size_t>(work.builders, 1))) {
    clients_[0] = std::move(work.client);
  }
  ~Builders() { work_.client = std::move(clients_[0]); }
  Builders(const Builders&) = delete;
  Builders& operator=(const Builders&) = delete;

  // The next free builder takes the next plan. Returns the builder of each plan. Rethrows a builder's exception.
  std::vector<size_t> build_all(const std::vector<EngineConfigFindings*>& configs, const Json& graph, bool keep) {
    std::vector<size_t> builder_of(configs.size(), 0);
    std::atomic<size_t> next = 0;
    const auto build_some = [&](size_t builder) {
      for (size_t i; (i = next++) < configs.size() && !work_.stop();) {
        builder_of[i] = builder;
        if (!configs[i]->plan) build(work_, *configs[i], graph, clients_[builder], keep);
      }
    };
    if (clients_.size() == 1) {
      build_some(0);
      return builder_of;
    }
    std::vector<std::exception_ptr> failures(clients_.size());
    {
      std::vector<std::jthread> threads;
      for (size_t b = 0; b < clients_.size(); ++b)
        threads.emplace_back([&, b] {
          try {
            build_some(b);
          } catch (const Stopped&) {
            clients_[b].reset();  // the next user sees the same stop
          } catch (...) {
            failures[b] = std::current_exception();
          }
        });
    }
    for (const auto& failure : failures)
      if (failure) std::rethrow_exception(failure);
    return builder_of;
  }

  // Prepares all builders in parallel; a lost builder reports it when it runs.
  void prepare() {
    std::vector<std::jthread> threads;
    for (auto& client : clients_)
      if (client)
        threads.emplace_back([&client] {
          try {
            client->prepare();
          } catch (const std::exception&) {
            if (!client->is_there()) client.reset();
          }
        });
  }

  size_t count() const { return clients_.size(); }
  std::unique_ptr<Client>& client(size_t builder) { return clients_[builder]; }

 private:
  const PlanWork& work_;
  std::vector<std::unique_ptr<Client>> clients_;
};

// The plans to build that are not in the cache.
std::vector<EngineConfigFindings*> look_up_all(const PlanWork& work) {
  std::vector<EngineConfigFindings*> unknown;
  for (auto& config : work.findings.engine_configs) {
    if (!config.check.supported || config.left_out || config.plan) continue;
    if (work.look_up) work.look_up(config);
    if (!config.plan) unknown.push_back(&config);
  }
  return unknown;
}

}  // namespace

probe::PlanFindings lost_plan(const WorkerLost& lost) {
  probe::PlanFindings plan;
  plan.status = name_of(lost.timed_out ? probe::PlanOutcome::timeout : probe::PlanOutcome::crashed);
  plan.reasons.push_back({plan.status, fmt::format("{}; it was at: {}", lost.end.text(), lost.stage.text)});
  return plan;
}

void build_plans(const PlanWork& work, probe::Plans plans) {
  const Json json = to_json(work.graph);
  work.findings.plans_built = work.findings.plans_built || plans != probe::Plans::none;
  if (plans == probe::Plans::build) {
    const auto unknown = look_up_all(work);
    Builders(work, unknown.size()).build_all(unknown, json, false);
    return;
  }
  while (const auto next = probe::next_plan(work.findings, plans)) {
    if (work.stop()) return;
    auto& config = work.findings.engine_configs[*next];
    if (work.look_up) work.look_up(config);
    if (!config.plan) build(work, config, json, work.client, false);
  }
}

namespace {

// The plans to run. For Plans::run_first it is the first that compiles, kept by the process that built it.
std::vector<EngineConfigFindings*> plans_to_run(const PlanWork& work, const Json& graph, probe::Plans plans) {
  std::vector<EngineConfigFindings*> waiting;
  if (plans == probe::Plans::run_first) {
    while (const auto next = probe::next_plan(work.findings, probe::Plans::first)) {
      if (work.stop()) return {};
      build(work, work.findings.engine_configs[*next], graph, work.client, true);
    }
  }
  for (auto& config : work.findings.engine_configs) {
    if (!config.check.supported || config.left_out || config.run || !is_to_run(config)) continue;
    if (plans == probe::Plans::run || config.plan) waiting.push_back(&config);
  }
  return waiting;
}

}  // namespace

void run_plans(const PlanWork& work, const run::RunOptions& options, probe::Plans plans) {
  const Json json = to_json(work.graph);
  work.findings.plans_built = work.findings.plans_run = true;
  const std::vector<EngineConfigFindings*> waiting = plans_to_run(work, json, plans);
  Builders builders(work, waiting.size());
  const auto builder_of = builders.build_all(waiting, json, true);
  // If cuDNN builds no plan, no turn is needed.
  if (work.stop() || std::none_of(waiting.begin(), waiting.end(), [](const auto* c) { return is_to_run(*c); })) return;
  builders.prepare();
  const bool quiet = options.timing != run::Timing::none;
  const GpuTurns::Held turn = work.gpu != nullptr ? work.gpu->turn(quiet) : GpuTurns::Held();
  const auto begin = std::chrono::steady_clock::now();
  for (size_t b = builders.count(); b-- > 0;) {
    auto& client = builders.client(b);
    for (size_t i = 0; i < waiting.size() && !work.stop(); ++i)
      if (builder_of[i] == b) run(work, *waiting[i], json, client, options);
    if (b > 0) client.reset();
  }
  if (auto& own = builders.client(0)) try {
      own->rest();
    } catch (const WorkerLost&) {
      own.reset();
    }
  for (auto* config : waiting)
    for (const auto tool : options.sanitizers)
      if (config->run && !work.stop())
        config->run->sanitized.push_back(sanitize(tool, work.start_under, json, *config, options));
  work.findings.gpu_ms += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace attnprobe::worker
