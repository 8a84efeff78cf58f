// The steps of a walk, one file each. Internal to lib/probe.
#pragma once

#include <map>

#include "cudnn/device_context.hpp"
#include "cudnn/lowering.hpp"
#include "probe/knob_names.hpp"
#include "probe/plan.hpp"
#include "probe/walk.hpp"

namespace attnprobe::probe {

/// A walk under way: the findings, and where plans will be built the live descriptor of each engine config that passed
/// its check. `configs` runs parallel to findings.engine_configs.
struct WalkState {
  const cudnn::DeviceContext& device;
  const cudnn::Descriptor& operation_graph;
  WalkFindings findings;
  std::vector<std::optional<cudnn::Descriptor>> configs;
  bool keep_log = false;
  bool keep_configs = true;                              ///< live ones slow cuDNN's next answers down by a twentieth
  std::map<std::pair<int64_t, Knobs>, size_t> places{};  ///< where each engine config stands in both lists

  const cudnn::Library& library() const { return device.library(); }
};

/// Index of the engine config in the findings, added if it is new.
size_t find_or_add(WalkState& state, int64_t engine, const Knobs& knobs);

/// A finalize whose status is a finding, and what cuDNN logged during it.
struct Finalized {
  cudnnStatus_t status;
  std::string log;
};
Finalized finalize_logged(const cudnn::Library& library, cudnn::Descriptor& descriptor, cudnn::LogCapture::Level level);

/// An engine config by the engine's global index and its knobs;
/// `config` where all of it finalized, else the status of what did not.
struct EngineConfig {
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  std::string log;
  std::optional<cudnn::Descriptor> engine, config;
};
EngineConfig make_config(const cudnn::DeviceContext& device, const cudnn::Descriptor& operation_graph, int64_t engine,
                         const Knobs& knobs);

/// Queries one heuristic mode and adds its candidates to the findings.
void query_heuristic(WalkState& state, const std::string& mode);

/// Checks one engine config that is not a heuristic's, and adds it as a mode of its own.
void check_named_config(WalkState& state, const NamedConfig& named);

/// How far engines are asked by themselves.
struct Sweep {
  bool knobs = false;           ///< with knob values too, not only as cuDNN chooses
  int64_t most_per_engine = 0;  ///< where an engine has more combinations than this, only one knob is varied at a time
  bool list_rejected = false;   ///< list rejected knob combinations, with their reasons, instead of counting them
};

/// Asks every engine by global index.
void ask_engines(WalkState& state, const Sweep& sweep, const Progress& progress);

/// Finalizes plans of engine configs that passed their check: those of next_plan().
void build_plans(WalkState& state, Plans plans, const Progress& progress);

/// Workspace, shared memory and notes of a finalized engine config, and its engine.
void describe_config(const cudnn::Descriptor& config, const cudnn::Descriptor& engine, EngineConfigFindings& into);

}  // namespace attnprobe::probe
