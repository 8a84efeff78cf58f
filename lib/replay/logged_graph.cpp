#include "replay/logged_graph.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attnprobe::replay {

bool LoggedGraph::works() const {
  if (!executed.empty()) return true;
  const auto& configs = findings.engine_configs;
  // A passing check is not enough if no plan could be built.
  if (std::any_of(configs.begin(), configs.end(), [](const auto& config) { return config.plan.has_value(); }))
    return std::any_of(configs.begin(), configs.end(), [](const auto& config) { return is_built(config); });
  return std::any_of(findings.modes.begin(), findings.modes.end(), [](const auto& mode) { return mode.viable > 0; });
}

bool LoggedGraph::refused() const {
  // A few lines of a log, without the graph, do not show whether another engine config was taken.
  return !works() && (findings.failure || !findings.modes.empty() || (imported && !findings.engine_configs.empty()));
}

void note_problem(LogHistory& history, int64_t line, const std::string& what) {
  if (history.problems.size() < most_problems) history.problems.push_back(fmt::format("line {}: {}", line, what));
}

std::pair<size_t, size_t> text_key(std::string_view text) {
  return {text.size(), std::hash<std::string_view>()(text)};
}

probe::EngineConfigFindings& engine_config(LoggedGraph& graph, const log::EngineConfigLog& logged) {
  probe::EngineConfigFindings config;
  config.engine = logged.engine;
  config.knobs = log::chosen_knobs(logged.knobs);
  auto& all = graph.findings.engine_configs;
  if (const auto known = log::find_config(all, config); known != all.end()) return *known;
  all.push_back(std::move(config));
  return all.back();
}

void note_mode(probe::EngineConfigFindings& config, const std::string& mode, std::optional<int64_t> rank) {
  if (std::find(config.modes.begin(), config.modes.end(), mode) == config.modes.end()) config.modes.push_back(mode);
  if (rank) config.rank.try_emplace(mode, *rank);
}

void note_check(LoggedGraph& graph, const log::EngineConfigLog& logged, const std::string& status,
                const std::vector<log::Reason>& reasons) {
  probe::EngineConfigFindings& config = engine_config(graph, logged);
  if (config.check.supported) return;
  config.check = {status == success, status};
  if (!reasons.empty()) config.reasons = reasons;
}

void note_plan(LoggedGraph& graph, const log::EngineConfigLog& logged, const std::string& status,
               const std::vector<log::Reason>& reasons) {
  probe::EngineConfigFindings& config = engine_config(graph, logged);
  // A config that reached its plan has passed the check.
  config.check = {true, std::string(success)};
  probe::PlanFindings plan;
  plan.status = status;
  plan.loaded = status == success;
  plan.reasons = reasons;
  config.plan = plan;
  graph.findings.plans_built = true;
}

void note_execution(LoggedGraph& graph, const log::EngineConfigLog& logged) {
  LoggedExecution execution{logged.engine, log::chosen_knobs(logged.knobs), 1};
  const auto known = log::find_config(graph.executed, execution);
  if (known != graph.executed.end())
    ++known->times;
  else
    graph.executed.push_back(std::move(execution));
}

void note_failure(LoggedGraph& graph, const std::string& stage, const std::string& descriptor,
                  const std::string& status, const std::vector<log::Reason>& reasons) {
  probe::Failure failure;
  failure.stage = stage;
  failure.cudnn.status = status;
  failure.message = fmt::format("cuDNN logged {}", status);
  if (!descriptor.empty()) {
    failure.cudnn.call = "cudnnBackendFinalize";
    failure.cudnn.descriptor = fmt::format("CUDNN_BACKEND_{}_DESCRIPTOR", descriptor);
    failure.message = fmt::format("cudnnBackendFinalize of {} says {}", failure.cudnn.descriptor, status);
  }
  if (!reasons.empty()) failure.cudnn.last_error = reasons.front().reason;
  graph.findings.failure = failure;
}

}  // namespace attnprobe::replay
