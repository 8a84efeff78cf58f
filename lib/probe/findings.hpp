// What a walk found: plain data, the same in the worker's answer and in reports.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "../base/error.hpp"
#include "../base/json.hpp"
#include "../log/reason.hpp"
#include "run_findings.hpp"
#include "walk_options.hpp"

namespace attnprobe::probe {

using log::Knobs;
using log::Reason;

/// One heuristic mode.
struct ModeFindings {
  std::string mode;                ///< "A", "B", "FALLBACK"
  std::string status;              ///< of the query: CUDNN_STATUS_SUCCESS also where nothing is viable
  int64_t candidates = 0;          ///< what the heuristic proposes
  int64_t viable = 0;              ///< what passes cuDNN's support check
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

/// One engine by global index, asked by itself.
struct EngineFindings {
  int64_t engine = 0;
  std::string status;           ///< of the engine's finalize
  std::vector<Reason> reasons;  ///< why it did not finalize
  std::vector<KnobRange> knobs;
  int64_t legal = 0;   ///< engine configs that its knobs allow, the one without choices included
  int64_t tried = 0;   ///< of these, how many were checked
  int64_t viable = 0;  ///< of these, how many pass
};
ATTNPROBE_JSON(EngineFindings, engine, status, reasons, knobs, legal, tried, viable)

/// cuDNN's support check: what finalizing the engine config said.
struct Check {
  bool supported = false;
  std::string status;
};
ATTNPROBE_JSON(Check, supported, status)

/// How building a plan ended.
enum class PlanOutcome {
  built,    ///< its kernel compiled, and is loaded where there is a GPU
  refused,  ///< cuDNN's status says why
  crashed,  ///< the worker was lost over it
  timeout,
  error,         ///< the worker could not ask cuDNN
  needs_driver,  ///< cuDNN hands the last step of this kernel to the GPU's driver, and the GPU is not there: nobody knows
  needs_compiler,  ///< this cuDNN compiles with NVRTC, and NVRTC is not there: nobody knows
};
ATTNPROBE_ENUM(PlanOutcome, built, refused, crashed, timeout, error, needs_driver, needs_compiler)

/// What kind of step a worker is at.
enum class Step {
  start,  ///< it has not answered anything yet
  other,
  plan,  ///< builds an engine config's plan
  run,   ///< executes it
};
ATTNPROBE_ENUM(Step, start, other, plan, run)

/// A kernel of a compiled plan. Its name and machine code stand in the plan's JSON, so that no GPU is needed to read them.
struct PlanKernel {
  std::string name;                    ///< "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_…"
  std::optional<int64_t> registers;    ///< of a thread
  std::optional<int64_t> stack_bytes;  ///< of a thread's local memory: what registers do not hold
  std::optional<int64_t> shared_memory_bytes;  ///< static; what a launch adds is the engine config's
  std::optional<int64_t> max_threads;          ///< of a block
};
ATTNPROBE_JSON(PlanKernel, name, registers, stack_bytes, shared_memory_bytes, max_threads)

/// A plan that was asked for.
struct PlanFindings {
  std::string status;  ///< cuDNN's; where it gave none, the outcome's name. See outcome_of()
  double build_ms = 0;
  bool loaded = false;  ///< false with the null driver: compiled for a GPU that is not there
  std::vector<Reason> reasons;
  std::vector<PlanKernel> kernels;  ///< of a built one; empty where cuDNN does not give its plan as JSON
};
ATTNPROBE_JSON(PlanFindings, status, build_ms, loaded, reasons, kernels)

/// One engine config: an engine and knob choices. Where several modes propose the same one it is here once.
struct EngineConfigFindings {
  std::vector<std::string> modes;       ///< the modes that propose it; none: found outside the heuristics
  std::map<std::string, int64_t> rank;  ///< its place in each mode's list, from 0
  int64_t engine = -1;
  Knobs knobs;  ///< empty: cuDNN chooses
  Check check;
  std::vector<Reason> reasons;  ///< why it was rejected, innermost cause first
  std::optional<int64_t> workspace_bytes, shared_memory_bytes;
  std::vector<std::string> numerical_notes, behavior_notes;
  std::optional<std::string> left_out;  ///< which constraint of the asker keeps it out (probe/constraints.hpp)
  std::optional<PlanFindings> plan;
  std::optional<RunFindings> run;
  std::optional<TimeFindings> time;
};
ATTNPROBE_JSON(EngineConfigFindings, modes, rank, engine, knobs, check, reasons, workspace_bytes, shared_memory_bytes,
               numerical_notes, behavior_notes, left_out, plan, run, time)

/// A step that failed so that the walk could not go on: the graph itself, or a call that must not fail.
struct Failure {
  std::string stage;    ///< "operation graph", "mode A", …
  std::string message;  ///< what was being done, and cuDNN's words
  CudnnFailure cudnn;
};
ATTNPROBE_JSON(Failure, stage, message, cudnn)

struct WalkFindings {
  std::optional<Failure> failure;
  std::vector<ModeFindings> modes;
  std::vector<EngineConfigFindings> engine_configs;  ///< in order of mode and rank, then the swept ones
  std::vector<EngineFindings> engines;               ///< where engines were asked one by one
  int64_t engine_count = 0;                          ///< CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT
  bool swept = false;        ///< engines were asked with knob values too; EngineFindings say how many of all
  bool plans_built = false;  ///< plans were asked for: of all, or in turn until one compiled
  bool plans_run = false;    ///< and their execution
  double walk_ms = 0;        ///< wall time of the whole walk
  double gpu_ms = 0;         ///< wall time of its turn on the GPU: data, reference, runs and times of its plans
  std::string log;           ///< raw text of every message about engine configs, where it was asked for
};
ATTNPROBE_JSON(WalkFindings, failure, modes, engine_configs, engines, engine_count, swept, plans_built, plans_run,
               walk_ms, gpu_ms, log)

/// Whether any engine config passes every stage that was asked for.
bool has_working_config(const WalkFindings& findings);

/// The first choice among them; nullptr: there is none.
const EngineConfigFindings* first_working(const WalkFindings& findings);

/// Whether this engine config does. One that no heuristic proposes has to compile, too.
bool works(const EngineConfigFindings& config, const WalkFindings& findings);
/// Whether the plan ran to its end and nothing is known to be wrong with what it computed.
bool ran(const RunFindings& run);
/// Whether it computed something wrong, or a sanitizer found errors.
bool is_wrong(const RunFindings& run);
/// By the first mode of the options, named ones before all, that proposes it and its rank there; what was found outside
/// the heuristics comes last. A walk does this at its end; the findings of one that was lost are as they came.
void sort_engine_configs(WalkFindings& findings, const WalkOptions& options);

/// Index of the engine config whose plan is to be built next: of those that passed their check and have none yet, in
/// order. With Plans::first, and with Plans::none to prove what no heuristic proposes, only until one is built or left
/// open, and of what no heuristic proposes only the first few of an engine. None: enough is built.
std::optional<size_t> next_plan(const WalkFindings& findings, Plans plans);

/// What a worker notes before each step that may take its process down.
struct Stage {
  Step step = Step::other;
  std::string text;  ///< "mode A", "plan of engine 2 {"KERNEL_CFG":7}"
  int64_t engine = -1;
  Knobs knobs;

  Stage(std::string text_ = "") : text(std::move(text_)) {}
  Stage(const char* text_) : text(text_) {}
  Stage(Step step_, std::string text_) : step(step_), text(std::move(text_)) {}
  /// Of a step with an engine config; `what` begins its text.
  Stage(Step step_, const std::string& what, int64_t engine_, Knobs knobs_);

  bool is_at(Step step_, const EngineConfigFindings& config) const {
    return step == step_ && engine == config.engine && knobs == config.knobs;
  }
};
ATTNPROBE_JSON(Stage, step, text, engine, knobs)

PlanOutcome outcome_of(const PlanFindings& plan);

/// Whether its plan is there.
bool is_built(const EngineConfigFindings& config);

/// Whether a plan of it was asked for and cannot be had here, without the GPU's driver or without NVRTC.
bool is_left_open(const EngineConfigFindings& config);

}  // namespace attnprobe::probe
