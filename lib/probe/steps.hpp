// The steps of a walk, one per file. Internal to lib/probe.
#pragma once

#include <map>

#include "cudnn/device_context.hpp"
#include "cudnn/lowering.hpp"
#include "probe/built_plan.hpp"
#include "probe/knob_names.hpp"
#include "probe/walk.hpp"

namespace attnprobe::probe {

/// A running walk: the findings and, if plans will be built, the live descriptor of each engine config that passed its
/// check. `configs` has the same order as findings.engine_configs.
struct WalkState {
  const cudnn::DeviceContext& device;
  const cudnn::Descriptor& operation_graph;
  WalkFindings findings;
  std::vector<std::optional<cudnn::Descriptor>> configs;
  bool keep_log = false;
  bool keep_configs = true;                              ///< live descriptors slow down cuDNN's next answers by 5 %
  std::map<std::pair<int64_t, Knobs>, size_t> places{};  ///< the index of each engine config in both lists

  const cudnn::Library& library() const { return device.library(); }
};

/// The index of the engine config in the findings; adds a new one.
size_t find_or_add(WalkState& state, int64_t engine, const Knobs& knobs);

/// The result of a finalize whose status is a finding, and cuDNN's log of it.
struct Finalized {
  cudnnStatus_t status;
  std::string log;
};
Finalized finalize_logged(const cudnn::Library& library, cudnn::Descriptor& descriptor, cudnn::LogCapture::Level level);

/// An engine config by the engine's global index and its knobs. `config` is set if everything finalized, else the
/// status of the first failure.
struct EngineConfig {
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  std::string log;
  std::optional<cudnn::Descriptor> engine, config;
};
EngineConfig make_config(const cudnn::DeviceContext& device, const cudnn::Descriptor& operation_graph, int64_t engine,
                         const Knobs& knobs);

/// Queries one heuristic mode and adds its candidates to the findings.
void query_heuristic(WalkState& state, const std::string& mode);

/// Checks one engine config that no heuristic gave, and adds it under its own mode.
void check_named_config(WalkState& state, const NamedConfig& named);

/// How thoroughly engines are asked by index.
struct Sweep {
  bool knobs = false;           ///< also with knob values, in addition to cuDNN's choice
  int64_t most_per_engine = 0;  ///< for an engine with more combinations, only one knob is varied at a time
  bool list_rejected = false;   ///< lists rejected knob combinations with reasons, instead of counting them
};

/// Asks every engine by global index.
void ask_engines(WalkState& state, const Sweep& sweep, const Progress& progress);

/// Finalizes plans of engine configs that passed their check, in the order of next_plan().
void build_plans(WalkState& state, Plans plans, const Progress& progress);

/// In bytes, of a launch of a finalized engine config; none if cuDNN does not report it.
std::optional<int64_t> shared_memory_of(const cudnn::Descriptor& config);

/// Workspace, shared memory and notes of a finalized engine config, and its engine.
void describe_config(const cudnn::Descriptor& config, const cudnn::Descriptor& engine, EngineConfigFindings& into);

}  // namespace attnprobe::probe
