#include <algorithm>

#include "log/log_parse.hpp"
#include "probe/steps.hpp"

namespace attnprobe::probe {
namespace {

using cudnn::Descriptor;
using cudnn::LogCapture;
using log::chosen_knobs;
using log::EngineConfigLog;

cudnnBackendHeurMode_t heuristic_mode(const std::string& mode) {
  if (mode == "A") return CUDNN_HEUR_MODE_A;
  if (mode == "B") return CUDNN_HEUR_MODE_B;
  if (mode == "FALLBACK") return CUDNN_HEUR_MODE_FALLBACK;
  throw Error(ErrorKind::usage, "unknown heuristic mode " + mode);
}

Knobs knobs_of(const Descriptor& config) {
  Knobs knobs;
  for (const Descriptor& choice : config.get_descriptors(
           ATTNPROBE_ATTRIBUTE(ENGINECFG_KNOB_CHOICES), CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS)) {
    const auto knob = choice.get<cudnnBackendKnobType_t>(ATTNPROBE_ATTRIBUTE(KNOB_CHOICE_KNOB_TYPE));
    knobs[knob_name(knob)] = choice.get<int64_t>(ATTNPROBE_ATTRIBUTE(KNOB_CHOICE_KNOB_VALUE));
  }
  return chosen_knobs(knobs);
}

void add_mode(EngineConfigFindings& config, const std::string& mode, std::optional<int64_t> rank) {
  if (std::find(config.modes.begin(), config.modes.end(), mode) == config.modes.end()) config.modes.push_back(mode);
  if (rank) config.rank[mode] = *rank;
}

// The index of a config in the heuristic's own list. From 9.19 the log has the list; before, only the order of viable
// configs is known.
std::optional<int64_t> rank_in(const std::vector<EngineConfigLog>& list, int64_t engine, const Knobs& knobs) {
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i].engine == engine && chosen_knobs(list[i].knobs) == knobs) return static_cast<int64_t>(i);
  return std::nullopt;
}

// Returns only configs that pass the support check; `log` has the reasons for rejecting the others.
std::vector<Descriptor> fetch(WalkState& state, const Descriptor& heuristics, int64_t candidates, std::string& log) {
  const LogCapture capture(state.library(), LogCapture::Level::info,
                           state.keep_log ? cudnn::LoggedGraphs::whole : cudnn::LoggedGraphs::left_out);
  auto configs = heuristics.get_descriptors(ATTNPROBE_ATTRIBUTE(ENGINEHEUR_RESULTS), CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
                                            candidates);
  log = capture.text();
  return configs;
}

void add_viable(WalkState& state, const std::string& mode, std::vector<Descriptor> configs,
                const std::vector<EngineConfigLog>& order) {
  for (size_t i = 0; i < configs.size(); ++i) {
    auto engines =
        configs[i].get_descriptors(ATTNPROBE_ATTRIBUTE(ENGINECFG_ENGINE), CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
    const auto engine = engines.at(0).get<int64_t>(ATTNPROBE_ATTRIBUTE(ENGINE_GLOBAL_INDEX));
    const Knobs knobs = knobs_of(configs[i]);
    const size_t index = find_or_add(state, engine, knobs);
    EngineConfigFindings& found = state.findings.engine_configs[index];
    const auto rank = order.empty() ? std::optional(static_cast<int64_t>(i)) : rank_in(order, engine, knobs);
    add_mode(found, mode, rank);
    found.check = {true, state.library().status_name(CUDNN_STATUS_SUCCESS)};
    describe_config(configs[i], engines[0], found);
    if (state.keep_configs) state.configs[index] = std::move(configs[i]);
  }
}

void add_rejected(WalkState& state, const std::string& mode, const std::vector<EngineConfigLog>& rejected,
                  const std::vector<EngineConfigLog>& order) {
  for (const auto& logged : rejected) {
    const Knobs knobs = chosen_knobs(logged.knobs);
    const size_t index = find_or_add(state, logged.engine, knobs);
    EngineConfigFindings& found = state.findings.engine_configs[index];
    add_mode(found, mode, rank_in(order, logged.engine, knobs));
    if (found.check.supported) continue;
    // The outermost line has the status of finalizing this config.
    found.check = {false, logged.reasons.empty() ? "CUDNN_STATUS_NOT_SUPPORTED" : logged.reasons.back().status};
    found.reasons = logged.reasons;
  }
}

}  // namespace

void query_heuristic(WalkState& state, const std::string& mode) {
  ModeFindings found;
  found.mode = mode;
  Descriptor heuristics(state.library(), CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(ATTNPROBE_ATTRIBUTE(ENGINEHEUR_OPERATION_GRAPH), state.operation_graph);
  heuristics.set(ATTNPROBE_ATTRIBUTE(ENGINEHEUR_MODE), heuristic_mode(mode));
  state.device.apply(heuristics, ATTNPROBE_ATTRIBUTE(ENGINEHEUR_DEVICEPROP));
  const auto [status, log] = finalize_logged(state.library(), heuristics, LogCapture::Level::info);
  found.status = state.library().status_name(status);
  found.notes = log::parse_notes(log);
  if (state.keep_log) state.findings.log += log;
  if (status != CUDNN_STATUS_SUCCESS) {
    found.reasons = log::parse_reasons(log);
    state.findings.modes.push_back(std::move(found));
    return;
  }
  found.candidates = heuristics.count(ATTNPROBE_ATTRIBUTE(ENGINEHEUR_RESULTS), CUDNN_TYPE_BACKEND_DESCRIPTOR);
  if (found.candidates > 0) {
    std::string checks;
    auto viable = fetch(state, heuristics, found.candidates, checks);
    found.viable = static_cast<int64_t>(viable.size());
    const auto order = log::parse_candidates(checks);
    add_viable(state, mode, std::move(viable), order);
    add_rejected(state, mode, log::parse_engine_configs(checks), order);
    if (state.keep_log) state.findings.log += checks;
  }
  state.findings.modes.push_back(std::move(found));
}

}  // namespace attnprobe::probe
