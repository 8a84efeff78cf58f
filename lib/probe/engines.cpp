#include <fmt/format.h>

#include <algorithm>

#include "log/log_parse.hpp"
#include "probe/steps.hpp"

namespace attnprobe::probe {
namespace {

using cudnn::Descriptor;
using cudnn::LogCapture;

// More values than any knob of cuDNN 9.28's attention engines has; guards against knobs that count bytes.
constexpr int64_t most_values_of_a_knob = 4096;

struct Knob {
  cudnnBackendKnobType_t type;
  KnobRange range;

  int64_t values() const {
    return std::min((range.max - range.min) / std::max<int64_t>(range.stride, 1) + 1, most_values_of_a_knob);
  }
  int64_t value(int64_t index) const { return range.min + index * std::max<int64_t>(range.stride, 1); }
};

// Returned unfinalized, because the status of finalizing is the answer.
Descriptor engine_of(const cudnn::DeviceContext& device, const Descriptor& operation_graph, int64_t index) {
  Descriptor engine(device.library(), CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine.set(ATTNPROBE_ATTRIBUTE(ENGINE_OPERATION_GRAPH), operation_graph);
  engine.set(ATTNPROBE_ATTRIBUTE(ENGINE_GLOBAL_INDEX), index);
  device.apply(engine, ATTNPROBE_ATTRIBUTE(ENGINE_DEVICEPROP));
  return engine;
}

// Also returned unfinalized.
Descriptor config_of(const cudnn::Library& library, const Descriptor& engine, const Knobs& knobs) {
  std::vector<Descriptor> choices;
  for (const auto& [name, value] : knobs) {
    Descriptor choice(library, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    choice.set(ATTNPROBE_ATTRIBUTE(KNOB_CHOICE_KNOB_TYPE), knob_type(name));
    choice.set(ATTNPROBE_ATTRIBUTE(KNOB_CHOICE_KNOB_VALUE), value);
    choice.finalize();
    choices.push_back(std::move(choice));
  }
  Descriptor config(library, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  config.set(ATTNPROBE_ATTRIBUTE(ENGINECFG_ENGINE), engine);
  if (!choices.empty())
    config.set_all(ATTNPROBE_ATTRIBUTE(ENGINECFG_KNOB_CHOICES), std::span<const Descriptor>(choices));
  return config;
}

std::vector<Knob> knobs_of_engine(const Descriptor& engine) {
  std::vector<Knob> knobs;
  for (const Descriptor& info : engine.get_descriptors(ATTNPROBE_ATTRIBUTE(ENGINE_KNOB_INFO),
                                                       CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS)) {
    Knob knob;
    knob.type = info.get<cudnnBackendKnobType_t>(ATTNPROBE_ATTRIBUTE(KNOB_INFO_TYPE));
    knob.range = {knob_name(knob.type), info.get<int64_t>(ATTNPROBE_ATTRIBUTE(KNOB_INFO_MINIMUM_VALUE)),
                  info.get<int64_t>(ATTNPROBE_ATTRIBUTE(KNOB_INFO_MAXIMUM_VALUE)),
                  info.get<int64_t>(ATTNPROBE_ATTRIBUTE(KNOB_INFO_STRIDE))};
    knobs.push_back(std::move(knob));
  }
  return knobs;
}

// Builds and checks one engine config.
void check_config(WalkState& state, EngineFindings& engine_findings, const Descriptor& engine,
                  const std::vector<Knob>& knobs, const std::vector<int64_t>& values, bool list_rejected) {
  Knobs named;
  for (size_t i = 0; i < values.size(); ++i) named[knobs[i].range.knob] = values[i];
  Descriptor config = config_of(state.library(), engine, named);
  ++engine_findings.tried;
  const auto [status, log] = finalize_logged(state.library(), config, LogCapture::Level::warnings);
  if (state.keep_log) state.findings.log += log;
  const bool passes = status == CUDNN_STATUS_SUCCESS;
  engine_findings.viable += passes ? 1 : 0;
  if (!passes && !list_rejected) return;
  const size_t index = find_or_add(state, engine_findings.engine, named);
  EngineConfigFindings& found = state.findings.engine_configs[index];
  if (found.check.supported) return;  // a heuristic proposed it, so it is already described
  found.check = {passes, state.library().status_name(status)};
  found.reasons = log::parse_reasons(log);
  if (passes) {
    describe_config(config, engine, found);
    if (state.keep_configs) state.configs[index] = std::move(config);
  }
}

int64_t combinations_of(const std::vector<Knob>& knobs) {
  constexpr int64_t enough = int64_t{1} << 40;
  int64_t combinations = 1;
  for (const Knob& knob : knobs) combinations = std::min(combinations * std::max<int64_t>(knob.values(), 1), enough);
  return combinations;
}

void try_all(WalkState& state, EngineFindings& found, const Descriptor& engine, const std::vector<Knob>& knobs,
             int64_t combinations, bool list_rejected) {
  for (int64_t combination = 0; combination < combinations; ++combination) {
    std::vector<int64_t> values;
    int64_t rest = combination;
    for (const Knob& knob : knobs) {
      values.push_back(knob.value(rest % knob.values()));
      rest /= knob.values();
    }
    check_config(state, found, engine, knobs, values, list_rejected);
  }
}

void try_one_knob_at_a_time(WalkState& state, EngineFindings& found, const Descriptor& engine,
                            const std::vector<Knob>& knobs, bool list_rejected) {
  for (const Knob& knob : knobs)
    for (int64_t i = 0; i < knob.values(); ++i)
      check_config(state, found, engine, {knob}, {knob.value(i)}, list_rejected);
}

}  // namespace

EngineConfig make_config(const cudnn::DeviceContext& device, const Descriptor& operation_graph, int64_t engine,
                         const Knobs& knobs) {
  EngineConfig made;
  made.engine = engine_of(device, operation_graph, engine);
  const Finalized of_engine = finalize_logged(device.library(), *made.engine, LogCapture::Level::warnings);
  made.status = of_engine.status;
  made.log = of_engine.log;
  if (made.status != CUDNN_STATUS_SUCCESS) return made;
  made.config = config_of(device.library(), *made.engine, knobs);
  const Finalized of_config = finalize_logged(device.library(), *made.config, LogCapture::Level::warnings);
  made.status = of_config.status;
  made.log = of_config.log;
  return made;
}

void check_named_config(WalkState& state, const NamedConfig& named) {
  Descriptor engine = engine_of(state.device, state.operation_graph, named.engine);
  ModeFindings mode;
  mode.mode = named.mode;
  mode.candidates = 1;
  const auto [status, log] = finalize_logged(state.library(), engine, LogCapture::Level::warnings);
  mode.status = state.library().status_name(status);
  mode.reasons = log::parse_reasons(log);
  EngineFindings found;
  found.engine = named.engine;
  const size_t index = find_or_add(state, named.engine, named.knobs);
  if (status == CUDNN_STATUS_SUCCESS) {
    std::vector<Knob> knobs;
    std::vector<int64_t> values;
    for (const auto& [name, value] : named.knobs) {
      knobs.push_back({knob_type(name), {name, value, value, 1}});
      values.push_back(value);
    }
    check_config(state, found, engine, knobs, values, true);
  } else {
    state.findings.engine_configs[index].check = {false, mode.status};
    state.findings.engine_configs[index].reasons = mode.reasons;
  }
  mode.viable = found.viable;
  state.findings.engine_configs[index].modes.push_back(named.mode);
  state.findings.engine_configs[index].rank[named.mode] = 0;
  state.findings.modes.push_back(std::move(mode));
}

void ask_engines(WalkState& state, const Sweep& sweep, const Progress& progress) {
  for (int64_t index = 0; index < state.findings.engine_count; ++index) {
    progress(fmt::format("engine {}", index), state.findings);
    EngineFindings found;
    found.engine = index;
    Descriptor engine = engine_of(state.device, state.operation_graph, index);
    const auto [status, log] = finalize_logged(state.library(), engine, LogCapture::Level::warnings);
    found.status = state.library().status_name(status);
    found.reasons = log::parse_reasons(log);
    if (status == CUDNN_STATUS_SUCCESS) {
      const std::vector<Knob> knobs = knobs_of_engine(engine);
      for (const Knob& knob : knobs) found.knobs.push_back(knob.range);
      const int64_t combinations = combinations_of(knobs);
      found.legal = 1 + (knobs.empty() ? 0 : combinations);
      check_config(state, found, engine, {}, {}, true);
      if (sweep.knobs && !knobs.empty() && combinations <= sweep.most_per_engine)
        try_all(state, found, engine, knobs, combinations, sweep.list_rejected);
      else if (sweep.knobs)
        try_one_knob_at_a_time(state, found, engine, knobs, sweep.list_rejected);
    }
    state.findings.engines.push_back(std::move(found));
  }
  state.findings.swept = sweep.knobs;
}

}  // namespace attnprobe::probe
