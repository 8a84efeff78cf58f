// Parses engine configs in cuDNN's log: text in, plain data out. Needs no cuDNN.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "log/reason.hpp"

namespace attnprobe::log {

/// An engine config in the log, with the reasons that follow it, innermost cause first.
struct EngineConfigLog {
  int64_t engine = -1;
  int64_t sm_version = 0;  ///< 890
  Knobs knobs;
  std::vector<Reason> reasons;
};

/// The first of `configs` with the engine and knobs of `like`, otherwise the end.
template <class Configs, class Config>
auto find_config(Configs& configs, const Config& like) {
  return std::find_if(configs.begin(), configs.end(),
                      [&](const auto& config) { return config.engine == like.engine && config.knobs == like.knobs; });
}

template <class Configs, class Config>
bool has_config(const Configs& configs, const Config& like) {
  return find_config(configs, like) != configs.end();
}

/// Drops unset knobs: the log has -1 for them, a descriptor omits them.
Knobs chosen_knobs(const Knobs& knobs);

/// The JSON object at the start of `text`, up to its matching brace; "" if it is truncated.
std::string_view json_object_at_start(std::string_view text);

/// {"engineId":2,"smVersion":900,"knobChoices":{"CUDNN_KNOB_TYPE_KERNEL_CFG":7}}; none for anything else.
std::optional<EngineConfigLog> parse_engine(const Json& json);

/// The blocks "engineConfig: type=json; val={…};" with the reason lines after each. Duplicates are dropped: cuDNN
/// repeats all blocks as an error stack if none is viable. Blocks with truncated or invalid JSON are skipped; their
/// text remains in the raw log.
std::vector<EngineConfigLog> parse_engine_configs(std::string_view text);

/// The reason lines of a traceback without an engine config, as a failing finalize logs it. Includes Error and Warning
/// lines, not "Info:".
std::vector<Reason> parse_reasons(std::string_view text);

/// Engine and knobs of each candidate in the heuristic's order, from the JSON that
/// cudnnBackendFinalizeEngineCfgVisualize() logs (seen from 9.19); {} without it.
std::vector<EngineConfigLog> parse_candidates(std::string_view text);

/// Separate notes such as "CUDNN_HEUR_MODE_B does not support this use case, redirecting to …", without duplicates.
std::vector<std::string> parse_notes(std::string_view text);

}  // namespace attnprobe::log
