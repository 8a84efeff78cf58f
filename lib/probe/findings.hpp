// The findings of a walk: plain data, used in the worker's answer and in reports.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "log/reason.hpp"
#include "probe/run_findings.hpp"
#include "probe/walk_options.hpp"

namespace attnprobe {
ATTNPROBE_JSON(CudnnFailure, call, descriptor, attribute, status_code, status, last_error, log)
}

namespace attnprobe::probe {

using log::Knobs;
using log::Reason;

/// One heuristic mode.
struct ModeFindings {
  std::string mode;                ///< "A", "B", "FALLBACK"
  std::string status;              ///< of the query: CUDNN_STATUS_SUCCESS even if nothing is viable
  int64_t candidates = 0;          ///< the number of proposals
  int64_t viable = 0;              ///< how many of them pass cuDNN's support check
  std::vector<std::string> notes;  ///< "… redirecting to CUDNN_HEUR_MODE_A"
  std::vector<Reason> reasons;     ///< why the query itself failed, if it did
};
ATTNPROBE_JSON(ModeFindings, mode, status, candidates, viable, notes, reasons)

/// A knob of an engine and its legal values.
struct KnobRange {
  std::string knob;  ///< "KERNEL_CFG"
  int64_t min = 0, max = 0, stride = 1;
};
ATTNPROBE_JSON(KnobRange, knob, min, max, stride)

/// One engine, asked by its global index.
struct EngineFindings {
  int64_t engine = 0;
  std::string status;           ///< of the engine's finalize
  std::vector<Reason> reasons;  ///< why it did not finalize
  std::vector<KnobRange> knobs;
  int64_t legal = 0;   ///< engine configs that its knobs allow, including the one without choices
  int64_t tried = 0;   ///< how many of these were checked
  int64_t viable = 0;  ///< how many of these pass
};
ATTNPROBE_JSON(EngineFindings, engine, status, reasons, knobs, legal, tried, viable)

/// cuDNN's support check: the result of finalizing the engine config.
struct Check {
  bool supported = false;
  std::string status;
};
ATTNPROBE_JSON(Check, supported, status)

/// The outcome of building a plan.
enum class PlanOutcome {
  built,    ///< its kernel compiled, and was loaded if there is a GPU
  refused,  ///< cuDNN's status has the reason
  crashed,  ///< the worker was lost
  timeout,
  error,           ///< the worker could not ask cuDNN
  needs_driver,    ///< unknown: cuDNN leaves this kernel's last step to the driver of a GPU that is absent
  needs_compiler,  ///< unknown: this cuDNN compiles with NVRTC, which is not installed
};
ATTNPROBE_ENUM(PlanOutcome, built, refused, crashed, timeout, error, needs_driver, needs_compiler)

/// The current step of a worker.
enum class Step {
  start,  ///< no answer yet
  other,
  plan,  ///< builds an engine config's plan
  run,   ///< executes it
};
ATTNPROBE_ENUM(Step, start, other, plan, run)

/// A kernel of a compiled plan. Its name and machine code come from the plan's JSON, so no GPU is needed.
struct PlanKernel {
  std::string name;                    ///< "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_…"
  std::optional<int64_t> registers;    ///< per thread
  std::optional<int64_t> stack_bytes;  ///< local memory per thread, which holds what does not fit into registers
  std::optional<int64_t> shared_memory_bytes;  ///< static; the engine config gives the dynamic part
  std::optional<int64_t> max_threads;          ///< per block
  std::optional<int64_t> code_bytes;           ///< machine code
  std::optional<int64_t> blocks_per_sm;        ///< resident at a time on one multiprocessor (probe/occupancy.hpp)
  /// 16 hexadecimal digits of code and constants: plans that execute the same kernel have the same identity.
  std::string identity;
  bool operator==(const PlanKernel&) const = default;
};
ATTNPROBE_JSON(PlanKernel, name, registers, stack_bytes, shared_memory_bytes, max_threads, code_bytes, blocks_per_sm,
               identity)

/// A requested plan.
struct PlanFindings {
  std::string status;  ///< cuDNN's; without one, the outcome's name. See outcome_of()
  double build_ms = 0;
  std::optional<int64_t> host_bytes;  ///< added to the process's heap by building it; none before glibc 2.33
  bool loaded = false;                ///< false with the null driver: compiled for an absent GPU
  std::vector<Reason> reasons;
  std::vector<PlanKernel> kernels;  ///< of a built plan; empty if cuDNN does not provide the plan as JSON
};
ATTNPROBE_JSON(PlanFindings, status, build_ms, host_bytes, loaded, reasons, kernels)

/// One engine config: an engine and knob choices. Listed once, even if several modes propose it.
struct EngineConfigFindings {
  std::vector<std::string> modes;       ///< the modes that propose it; none: found outside the heuristics
  std::map<std::string, int64_t> rank;  ///< its index in each mode's list, from 0
  int64_t engine = -1;
  Knobs knobs;  ///< empty: cuDNN chooses the knobs
  Check check;
  std::vector<Reason> reasons;  ///< why it was rejected, innermost cause first
  std::optional<int64_t> workspace_bytes, shared_memory_bytes;
  std::vector<std::string> numerical_notes, behavior_notes;
  std::optional<std::string> left_out;  ///< the user's constraint that it breaks (probe/constraints.hpp)
  std::optional<PlanFindings> plan;
  std::optional<RunFindings> run;
  std::optional<TimeFindings> time;
};
ATTNPROBE_JSON(EngineConfigFindings, modes, rank, engine, knobs, check, reasons, workspace_bytes, shared_memory_bytes,
               numerical_notes, behavior_notes, left_out, plan, run, time)

/// A failed step that ended the walk: the graph itself, or a call that must not fail.
struct Failure {
  std::string stage;    ///< "operation graph", "mode A", …
  std::string message;  ///< the attempted action, and cuDNN's message
  CudnnFailure cudnn;
};
ATTNPROBE_JSON(Failure, stage, message, cudnn)

struct WalkFindings {
  std::optional<Failure> failure;
  std::vector<ModeFindings> modes;
  std::vector<EngineConfigFindings> engine_configs;  ///< in order of mode and rank, then the swept ones
  std::vector<EngineFindings> engines;               ///< set if engines were asked one by one
  int64_t engine_count = 0;                          ///< CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT
  bool swept = false;        ///< engines were also asked with knob values; EngineFindings has the counts
  bool plans_built = false;  ///< plans were requested: all of them, or in order until one compiled
  bool plans_run = false;    ///< their execution was requested
  double walk_ms = 0;        ///< wall time of the whole walk
  double gpu_ms = 0;         ///< wall time of its turn on the GPU: data, reference, runs and timing
  std::string log;           ///< raw text of all messages about engine configs, if requested
};
ATTNPROBE_JSON(WalkFindings, failure, modes, engine_configs, engines, engine_count, swept, plans_built, plans_run,
               walk_ms, gpu_ms, log)

/// Whether any engine config passes every requested stage.
bool has_working_config(const WalkFindings& findings);

/// The first choice among them, or nullptr.
const EngineConfigFindings* first_working(const WalkFindings& findings);

/// Whether this engine config passes. If no heuristic proposes it, it must also compile.
bool works(const EngineConfigFindings& config, const WalkFindings& findings);
/// Whether the plan ran to its end without a known error in its results.
bool ran(const RunFindings& run);
/// Whether its results were wrong, or a sanitizer found errors.
bool is_wrong(const RunFindings& run);
/// Sorts by the first mode that proposes the config, with named modes before the options' modes, and by its rank in
/// that mode. Configs found outside the heuristics come last. A walk calls this at its end, so findings of a lost walk
/// are unsorted.
void sort_engine_configs(WalkFindings& findings, const WalkOptions& options);

/// The index of the engine config to build next, in order, among those that passed their check and have no plan. With
/// Plans::first, and with Plans::none for configs that no heuristic proposes, none after a plan is built or its outcome
/// is unknown. Among configs that no heuristic proposes, only the first few per engine are tried. None: nothing is left
/// to build.
std::optional<size_t> next_plan(const WalkFindings& findings, Plans plans);

/// A worker records it before each step that may crash the process.
struct Stage {
  Step step = Step::other;
  std::string text;  ///< "mode A", "plan of engine 2 {"KERNEL_CFG":7}"
  int64_t engine = -1;
  Knobs knobs;

  Stage(std::string text_ = "") : text(std::move(text_)) {}
  Stage(const char* text_) : text(text_) {}
  Stage(Step step_, std::string text_) : step(step_), text(std::move(text_)) {}
  /// For a step with an engine config. The step's text begins with `what`.
  Stage(Step step_, const std::string& what, int64_t engine_, Knobs knobs_);

  bool is_at(Step step_, const EngineConfigFindings& config) const {
    return step == step_ && engine == config.engine && knobs == config.knobs;
  }
};
ATTNPROBE_JSON(Stage, step, text, engine, knobs)

PlanOutcome outcome_of(const PlanFindings& plan);

/// Whether its plan was built.
bool is_built(const EngineConfigFindings& config);

/// Whether its plan was requested but cannot be built here, without the GPU's driver or without NVRTC.
bool is_left_open(const EngineConfigFindings& config);

}  // namespace attnprobe::probe
