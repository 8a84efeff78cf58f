// What cuDNN's log says of engine configs: text in, plain data out. Needs no cuDNN.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "log/reason.hpp"

namespace attnprobe::log {

/// An engine config as the log names it, with the reasons that follow it, innermost cause first.
struct EngineConfigLog {
  int64_t engine = -1;
  int64_t sm_version = 0;  ///< 890
  Knobs knobs;
  std::vector<Reason> reasons;
};

/// The first of `configs` with the engine and the knobs of `like`; the end if there is none.
template <class Configs, class Config>
auto find_config(Configs& configs, const Config& like) {
  return std::find_if(configs.begin(), configs.end(),
                      [&](const auto& config) { return config.engine == like.engine && config.knobs == like.knobs; });
}

template <class Configs, class Config>
bool has_config(const Configs& configs, const Config& like) {
  return find_config(configs, like) != configs.end();
}

/// Without the knobs that nobody chose: the log writes -1 for them, the descriptor has no such knob.
Knobs chosen_knobs(const Knobs& knobs);

/// The JSON object at the start of `text`, cut at its matching brace; "" if it is cut off.
std::string_view json_object_at_start(std::string_view text);

/// {"engineId":2,"smVersion":900,"knobChoices":{"CUDNN_KNOB_TYPE_KERNEL_CFG":7}}; none for anything else.
std::optional<EngineConfigLog> parse_engine(const Json& json);

/// The blocks "engineConfig: type=json; val={…};" with the reason lines after each. A block that appears again (cuDNN
/// repeats all of them as an error stack when none is viable) is given once. A block whose JSON is cut off or is no
/// JSON is left out; its text stays in the raw log.
std::vector<EngineConfigLog> parse_engine_configs(std::string_view text);

/// The reason lines of a traceback that names no engine config: what a
/// failing finalize logs. Error and Warning lines count, "Info:" lines don't.
std::vector<Reason> parse_reasons(std::string_view text);

/// Engine and knobs of each candidate in the heuristic's order, from the JSON that
/// cudnnBackendFinalizeEngineCfgVisualize() logs (seen from 9.19; {} where it does not).
std::vector<EngineConfigLog> parse_candidates(std::string_view text);

/// Free-standing notes such as "CUDNN_HEUR_MODE_B does not
/// support this use case, redirecting to …", without repetition.
std::vector<std::string> parse_notes(std::string_view text);

}  // namespace attnprobe::log
