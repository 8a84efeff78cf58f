#include <fmt/format.h>

#include <chrono>

#include "log/log_parse.hpp"
#include "probe/steps.hpp"

namespace attnprobe::probe {

using cudnn::Descriptor;
using cudnn::LogCapture;

namespace {

// Finalizes the plan of an engine config; `into` says how that went.
Descriptor finalize_plan(const cudnn::DeviceContext& device, const Descriptor& config, PlanFindings& into,
                         std::string* kept_log) {
  const cudnn::Library& library = device.library();
  Descriptor plan(library, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(ATTNPROBE_ATTRIBUTE(EXECUTION_PLAN_ENGINE_CONFIG), config);
  // Always the device the config was made for: a second plan without it fails to compile (measured, 9.19).
  device.apply(plan, ATTNPROBE_ATTRIBUTE(EXECUTION_PLAN_DEVICEPROP));
  if (device.handle() != nullptr) plan.set(ATTNPROBE_ATTRIBUTE(EXECUTION_PLAN_HANDLE), device.handle());
  const auto start = std::chrono::steady_clock::now();
  const auto [status, log] = finalize_logged(library, plan, LogCapture::Level::warnings);
  into.build_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  into.status = library.status_name(status);
  into.reasons = log::parse_reasons(log);
  into.loaded = status == CUDNN_STATUS_SUCCESS && !device.is_simulated();
  if (kept_log != nullptr) *kept_log += log;
  return plan;
}

bool awaits_plan(const WalkState& state, size_t i) {
  const EngineConfigFindings& config = state.findings.engine_configs[i];
  return config.check.supported && state.configs[i] && !config.plan;
}

void build_plan_of(WalkState& state, size_t i, const Progress& progress) {
  EngineConfigFindings& config = state.findings.engine_configs[i];
  progress(stage_of("plan", config.engine, config.knobs), state.findings);
  PlanFindings found;
  finalize_plan(state.device, *state.configs[i], found, state.keep_log ? &state.findings.log : nullptr);
  config.plan = std::move(found);
}

}  // namespace

void build_plans(WalkState& state, const Progress& progress) {
  for (size_t i = 0; i < state.configs.size(); ++i)
    if (awaits_plan(state, i)) build_plan_of(state, i, progress);
  state.findings.plans_built = true;
}

void build_first_plan(WalkState& state, const Progress& progress) {
  // What fails to compile for one knob value mostly fails for its neighbours, a second each.
  constexpr int most_of_an_engine = 4;
  std::map<int64_t, int> tried;
  for (size_t i = 0; i < state.configs.size(); ++i) {
    const EngineConfigFindings& config = state.findings.engine_configs[i];
    if (!awaits_plan(state, i) || (config.modes.empty() && ++tried[config.engine] > most_of_an_engine)) continue;
    build_plan_of(state, i, progress);
    // Where one needs the driver, the others would, too.
    if (is_built(state.findings.engine_configs[i]) || needs_driver(state.findings.engine_configs[i])) return;
  }
}

BuiltPlan build_plan(const cudnn::DeviceContext& device, const Descriptor& operation_graph, int64_t engine,
                     const Knobs& knobs) {
  BuiltPlan built;
  const EngineConfig config = make_config(device, operation_graph, engine, knobs);
  built.findings.status = device.library().status_name(config.status);
  built.findings.reasons = log::parse_reasons(config.log);
  if (config.status != CUDNN_STATUS_SUCCESS) return built;
  Descriptor plan = finalize_plan(device, *config.config, built.findings, nullptr);
  if (outcome_of(built.findings) != PlanOutcome::built) return built;
  built.workspace_bytes = plan.get<int64_t>(ATTNPROBE_ATTRIBUTE(EXECUTION_PLAN_WORKSPACE_SIZE));
  built.plan = std::move(plan);
  return built;
}

}  // namespace attnprobe::probe
