#include <dlfcn.h>
#include <fmt/format.h>

#include <chrono>

#include "log/log_parse.hpp"
#include "probe/plan_kernels.hpp"
#include "probe/steps.hpp"

namespace attnprobe::probe {

using cudnn::Descriptor;
using cudnn::LogCapture;

namespace {

// The kernels of a plan that cuDNN returns as JSON; older versions and some engines return no JSON.
std::vector<PlanKernel> kernels_of(const Descriptor& plan, std::optional<int64_t> shared_memory_bytes) try {
  return plan_kernels(plan.get_text(ATTNPROBE_ATTRIBUTE(EXECUTION_PLAN_JSON_REPRESENTATION)), shared_memory_bytes);
} catch (const Error& e) {
  if (!e.cudnn()) throw;
  return {};
}

// The bytes that this process has allocated, from tcmalloc if the program uses it, otherwise from glibc (2.33 on).
std::optional<int64_t> heap_bytes() {
  static const auto tcmalloc_property =
      reinterpret_cast<int (*)(const char*, size_t*)>(dlsym(RTLD_DEFAULT, "MallocExtension_GetNumericProperty"));
  size_t bytes = 0;
  if (tcmalloc_property != nullptr && tcmalloc_property("generic.current_allocated_bytes", &bytes) != 0)
    return static_cast<int64_t>(bytes);
  struct Use {
    size_t arena, ordblks, smblks, hblks, mapped, usmblks, fsmblks, used, fordblks, keepcost;  // struct mallinfo2
  };
  static const auto glibc_use = reinterpret_cast<Use (*)()>(dlsym(RTLD_DEFAULT, "mallinfo2"));
  if (glibc_use == nullptr) return std::nullopt;
  const Use use = glibc_use();
  return static_cast<int64_t>(use.used + use.mapped);
}

// The additional allocation; none if unknown, as with an allocator other than glibc's.
std::optional<int64_t> heap_growth(std::optional<int64_t> before) {
  const auto now = heap_bytes();
  return before && now && *now > *before ? std::optional(*now - *before) : std::nullopt;
}

// Finalizes the plan of an engine config; `into` receives the outcome.
Descriptor finalize_plan(const cudnn::DeviceContext& device, const Descriptor& config, PlanFindings& into,
                         std::string* kept_log) {
  const cudnn::Library& library = device.library();
  Descriptor plan(library, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(ATTNPROBE_ATTRIBUTE(EXECUTION_PLAN_ENGINE_CONFIG), config);
  // Always sets the config's device, because a second plan without it fails to compile (measured, 9.19).
  device.apply(plan, ATTNPROBE_ATTRIBUTE(EXECUTION_PLAN_DEVICEPROP));
  if (device.handle() != nullptr) plan.set(ATTNPROBE_ATTRIBUTE(EXECUTION_PLAN_HANDLE), device.handle());
  if (!library.no_compiler().empty()) {
    into.status = name_of(PlanOutcome::needs_compiler);
    into.reasons = {{into.status, library.no_compiler()}};
    return plan;
  }
  const auto start = std::chrono::steady_clock::now();
  const auto [status, log] = finalize_logged(library, plan, LogCapture::Level::warnings);
  into.build_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  into.status = library.status_name(status);
  into.reasons = log::parse_reasons(log);
  into.loaded = status == CUDNN_STATUS_SUCCESS && !device.is_simulated();
  if (status == CUDNN_STATUS_SUCCESS) into.kernels = kernels_of(plan, shared_memory_of(config));
  if (kept_log != nullptr) *kept_log += log;
  return plan;
}

void build_plan_of(WalkState& state, size_t i, const Progress& progress) {
  EngineConfigFindings& config = state.findings.engine_configs[i];
  progress({Step::plan, "plan", config.engine, config.knobs}, state.findings);
  PlanFindings found;
  const auto heap = heap_bytes();
  const Descriptor plan =
      finalize_plan(state.device, *state.configs[i], found, state.keep_log ? &state.findings.log : nullptr);
  if (outcome_of(found) == PlanOutcome::built) {
    found.host_bytes = heap_growth(heap);
    // A plan owns its engine config, which the heuristic created earlier, so only a second plan shows a plan's size.
    const auto before = heap_bytes();
    const EngineConfig again = make_config(state.device, state.operation_graph, config.engine, config.knobs);
    if (found.host_bytes) *found.host_bytes += heap_growth(before).value_or(0);
  }
  config.plan = std::move(found);
}

}  // namespace

void build_plans(WalkState& state, Plans plans, const Progress& progress) {
  while (const auto next = next_plan(state.findings, plans)) build_plan_of(state, *next, progress);
  if (plans != Plans::none) state.findings.plans_built = true;
}

BuiltPlan build_plan(const cudnn::DeviceContext& device, const Descriptor& operation_graph, int64_t engine,
                     const Knobs& knobs) {
  BuiltPlan built;
  const auto heap = heap_bytes();
  const EngineConfig config = make_config(device, operation_graph, engine, knobs);
  built.findings.status = device.library().status_name(config.status);
  built.findings.reasons = log::parse_reasons(config.log);
  if (config.status != CUDNN_STATUS_SUCCESS) return built;
  Descriptor plan = finalize_plan(device, *config.config, built.findings, nullptr);
  if (outcome_of(built.findings) != PlanOutcome::built) return built;
  built.findings.host_bytes = heap_growth(heap);
  built.workspace_bytes = plan.get<int64_t>(ATTNPROBE_ATTRIBUTE(EXECUTION_PLAN_WORKSPACE_SIZE));
  built.plan = std::move(plan);
  return built;
}

}  // namespace attnprobe::probe
