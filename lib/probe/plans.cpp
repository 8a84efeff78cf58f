#include <fmt/format.h>

#include <chrono>

#include "attnprobe/probe/steps.hpp"

namespace attnprobe::probe {

using cudnn::Descriptor;
using cudnn::LogCapture;

void build_plans(WalkState& state, const Progress& progress) {
  for (size_t i = 0; i < state.findings.engine_configs.size(); ++i) {
    EngineConfigFindings& config = state.findings.engine_configs[i];
    if (!config.check.supported || !state.configs[i] || config.plan) continue;
    progress(fmt::format("plan of engine {} {}", config.engine, Json(config.knobs).dump()), state.findings);
    Descriptor plan(state.library(), CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(ATTNPROBE_ATTRIBUTE(EXECUTION_PLAN_ENGINE_CONFIG), *state.configs[i]);
    // Always the device the config was made for: a second plan without it fails to compile (measured, 9.19).
    state.device.apply(plan, ATTNPROBE_ATTRIBUTE(EXECUTION_PLAN_DEVICEPROP));
    if (state.device.handle() != nullptr)
      plan.set(ATTNPROBE_ATTRIBUTE(EXECUTION_PLAN_HANDLE), state.device.handle());
    PlanFindings found;
    const auto start = std::chrono::steady_clock::now();
    const auto [status, log] = finalize_logged(state, plan, LogCapture::Level::warnings);
    found.build_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    found.status = state.library().status_name(status);
    found.reasons = cudnn::parse_reasons(log);
    found.loaded = status == CUDNN_STATUS_SUCCESS && !state.device.is_simulated();
    if (state.keep_log) state.findings.log += log;
    config.plan = std::move(found);
  }
  state.findings.plans_built = true;
}

}  // namespace attnprobe::probe
