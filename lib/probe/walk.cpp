#include "probe/walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "probe/note_names.hpp"
#include "probe/steps.hpp"

namespace attnprobe::probe {
namespace {

// Limits on knob combinations per engine. 9.19's attention engines have at most 111, 9.28's tens of thousands, at about
// a millisecond each.
constexpr int64_t most_swept_combinations = 200'000;  // --engines knobs: all of them
constexpr int64_t most_tried_combinations = 1'000;    // automatic, if no heuristic found anything

// By number, from cudnn_graph.h of 9.28.
constexpr const char* knob_names[] = {"SPLIT_K",
                                      "SWIZZLE",
                                      "TILE_SIZE",
                                      "USE_TEX",
                                      "EDGE",
                                      "KBLOCK",
                                      "LDGA",
                                      "LDGB",
                                      "CHUNK_K",
                                      "SPLIT_H",
                                      "WINO_TILE",
                                      "MULTIPLY",
                                      "SPLIT_K_BUF",
                                      "TILEK",
                                      "STAGES",
                                      "REDUCTION_MODE",
                                      "CTA_SPLIT_K_MODE",
                                      "SPLIT_K_SLC",
                                      "IDX_MODE",
                                      "SLICED",
                                      "SPLIT_RS",
                                      "SINGLEBUFFER",
                                      "LDGC",
                                      "SPECFILT",
                                      "KERNEL_CFG",
                                      "WORKSPACE",
                                      "TILE_CGA",
                                      "TILE_CGA_M",
                                      "TILE_CGA_N",
                                      "BLOCK_SIZE",
                                      "OCCUPANCY",
                                      "ARRAY_SIZE_PER_THREAD",
                                      "NUM_C_PER_BLOCK",
                                      "SPLIT_COLS",
                                      "TILE_ROWS",
                                      "TILE_COLS",
                                      "LOAD_SIZE",
                                      "CTA_COUNT",
                                      "STREAM_K",
                                      "SPLIT_P_SLC",
                                      "TILE_M",
                                      "TILE_N",
                                      "WARP_SPEC_CFG",
                                      "SWAP_AB"};

std::string numerical_note_name(cudnnBackendNumericalNote_t note) {
  const auto index = static_cast<size_t>(note);
  return index < std::size(numerical_note_names) ? numerical_note_names[index]
                                                 : fmt::format("NUMERICAL_NOTE_{}", index);
}

std::string behavior_note_name(cudnnBackendBehaviorNote_t note) {
  const auto index = static_cast<size_t>(note);
  return index < std::size(behavior_note_names) ? behavior_note_names[index] : fmt::format("BEHAVIOR_NOTE_{}", index);
}

// Skips an attribute that older versions lack.
template <class F>
void if_known(F&& read) {
  try {
    read();
  } catch (const Error& e) {
    if (!e.cudnn()) throw;
  }
}

void fail(WalkState& state, const std::string& stage, const Error& e) {
  state.findings.failure = Failure{stage, e.what(), e.cudnn().value_or(CudnnFailure{})};
}

// Runs a step. A cuDNN error becomes the walk's failure. Returns whether the walk can continue.
template <class F>
bool step(WalkState& state, const std::string& stage, const Progress& progress, F&& body) {
  progress(stage, state.findings);
  try {
    body();
    return true;
  } catch (const Error& e) {
    fail(state, stage, e);
    return false;
  }
}

// A failing mode is a finding; the other modes are still asked.
template <class F>
void ask_mode(WalkState& state, const std::string& mode, const Progress& progress, F&& ask) {
  progress("mode " + mode, state.findings);
  try {
    ask();
  } catch (const Error& e) {
    if (!e.cudnn()) throw;
    state.findings.modes.push_back({mode, e.cudnn()->status, 0, 0, {}, {{e.cudnn()->status, e.what()}}});
  }
}

void walk_graph(WalkState& state, const WalkOptions& options, const Progress& progress) {
  for (const auto& named : options.named)
    ask_mode(state, named.mode, progress, [&] { check_named_config(state, named); });
  for (const auto& mode : options.modes) {
    if (options.until_works && options.plans == Plans::none && has_working_config(state.findings)) break;
    ask_mode(state, mode, progress, [&] { query_heuristic(state, mode); });
  }
  const bool every_knob = options.engines == Engines::knobs;
  auto ask_all = [&](bool knobs) {
    const Sweep how{knobs, every_knob ? most_swept_combinations : most_tried_combinations, every_knob};
    state.keep_configs = true;  // found configs may need compiling
    return step(state, "engines", progress, [&] { ask_engines(state, how, progress); });
  };
  auto build = [&] {
    return step(state, "plans", progress, [&] {
      // Without plans, only configs that no heuristic proposes are built: their check does not prove support.
      if (options.plans != Plans::none || !has_working_config(state.findings))
        build_plans(state, options.plans, progress);
    });
  };
  // If nothing works, asks all engines: after the check, and again if no plan could be built.
  auto sweep = [&] { return options.sweep_where_none && !has_working_config(state.findings); };
  bool asked_knobs = false;
  if (options.engines != Engines::heuristic) {
    asked_knobs = every_knob || sweep();
    if (!ask_all(asked_knobs)) return;
  }
  if (!build() || !sweep() || asked_knobs) return;
  if (ask_all(true)) build();
}

}  // namespace

size_t find_or_add(WalkState& state, int64_t engine, const Knobs& knobs) {
  auto& configs = state.findings.engine_configs;
  const auto [place, is_new] = state.places.try_emplace({engine, knobs}, configs.size());
  if (is_new) {
    configs.emplace_back();
    configs.back().engine = engine;
    configs.back().knobs = knobs;
    state.configs.emplace_back();
  }
  return place->second;
}

Finalized finalize_logged(const cudnn::Library& library, cudnn::Descriptor& descriptor,
                          cudnn::LogCapture::Level level) {
  const cudnn::LogCapture capture(library, level);
  const cudnnStatus_t status = descriptor.try_finalize();
  return {status, capture.text()};
}

std::string knob_name(cudnnBackendKnobType_t knob) {
  const auto index = static_cast<size_t>(knob);
  return index < std::size(knob_names) ? knob_names[index] : std::to_string(index);
}

std::vector<std::string> all_knob_names() {
  return {std::begin(knob_names), std::end(knob_names)};
}

cudnnBackendKnobType_t knob_type(const std::string& name) {
  for (size_t i = 0; i < std::size(knob_names); ++i)
    if (name == knob_names[i]) return static_cast<cudnnBackendKnobType_t>(i);
  throw Error(ErrorKind::internal, fmt::format("cuDNN has no knob {}", name));
}

std::optional<int64_t> shared_memory_of(const cudnn::Descriptor& config) {
  std::optional<int64_t> known;
  // INT32, unlike the workspace (measured, 9.19). cuDNN returns 0 if it does not know the value yet.
  if_known([&] {
    const auto bytes = config.get<int32_t>(ATTNPROBE_ATTRIBUTE(ENGINECFG_SHARED_MEMORY_USED));
    if (bytes > 0) known = bytes;
  });
  return known;
}

void describe_config(const cudnn::Descriptor& config, const cudnn::Descriptor& engine, EngineConfigFindings& into) {
  if_known([&] { into.workspace_bytes = config.get<int64_t>(ATTNPROBE_ATTRIBUTE(ENGINECFG_WORKSPACE_SIZE)); });
  into.shared_memory_bytes = shared_memory_of(config);
  into.numerical_notes.clear();
  into.behavior_notes.clear();
  if_known([&] {
    for (const auto note : engine.get_all<cudnnBackendNumericalNote_t>(ATTNPROBE_ATTRIBUTE(ENGINE_NUMERICAL_NOTE), 64))
      into.numerical_notes.push_back(numerical_note_name(note));
  });
  if_known([&] {
    for (const auto note : engine.get_all<cudnnBackendBehaviorNote_t>(ATTNPROBE_ATTRIBUTE(ENGINE_BEHAVIOR_NOTE), 64))
      into.behavior_notes.push_back(behavior_note_name(note));
  });
}

WalkFindings walk(const cudnn::DeviceContext& device, const graph::OpGraph& graph, const WalkOptions& options,
                  const Progress& progress) {
  const auto start = std::chrono::steady_clock::now();
  std::optional<cudnn::LoweredGraph> lowered;
  WalkFindings findings;
  try {
    progress("operation graph", findings);
    // No log capture here, because at info level it makes building ten times slower; the last error string has the
    // reason.
    lowered.emplace(cudnn::lower(device.library(), graph, device.handle()));
  } catch (const Error& e) {
    findings.failure = Failure{"operation graph", e.what(), e.cudnn().value_or(CudnnFailure{})};
  }
  if (lowered) {
    WalkState state{device, lowered->operation_graph(), {}, {}, options.keep_log, options.plans != Plans::none};
    step(state, "engine count", progress, [&] {
      state.findings.engine_count =
          lowered->operation_graph().get<int64_t>(ATTNPROBE_ATTRIBUTE(OPERATIONGRAPH_ENGINE_GLOBAL_COUNT));
    });
    if (!state.findings.failure) walk_graph(state, options, progress);
    findings = std::move(state.findings);
    sort_engine_configs(findings, options);
  }
  findings.walk_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return findings;
}

}  // namespace attnprobe::probe
