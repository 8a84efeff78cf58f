#include "trace/merged_history.hpp"

#include <algorithm>
#include <iterator>

#include "log/log_parse.hpp"
#include "replay/logged_graph.hpp"

namespace attnprobe::trace {
namespace {

constexpr size_t most_lines_kept = 20;  // of problems and of exceptions

void add_lines(std::vector<std::string>& into, const std::vector<std::string>& from, const std::string& prefix) {
  for (const auto& line : from)
    if (into.size() < most_lines_kept && std::find(into.begin(), into.end(), prefix + line) == into.end())
      into.push_back(prefix + line);
}

void merge_config(probe::EngineConfigFindings& into, const probe::EngineConfigFindings& from) {
  for (const auto& mode : from.modes) {
    const auto rank = from.rank.find(mode);
    replay::note_mode(into, mode, rank == from.rank.end() ? std::nullopt : std::optional<int64_t>(rank->second));
  }
  if (!into.check.supported) {
    into.check = from.check;
    if (!from.reasons.empty()) into.reasons = from.reasons;
  }
  if (from.plan && (!into.plan || !probe::is_built(into))) into.plan = from.plan;
}

}  // namespace

void merge(replay::LoggedGraph& into, const replay::LoggedGraph& from) {
  into.finalized += from.finalized;
  if (into.kind.empty()) into.kind = from.kind;
  auto& findings = into.findings;
  for (const auto& mode : from.findings.modes)
    if (std::none_of(findings.modes.begin(), findings.modes.end(), [&](const auto& m) { return m.mode == mode.mode; }))
      findings.modes.push_back(mode);
  for (const auto& config : from.findings.engine_configs)
    if (const auto known = log::find_config(findings.engine_configs, config); known != findings.engine_configs.end())
      merge_config(*known, config);
    else
      findings.engine_configs.push_back(config);
  findings.plans_built = findings.plans_built || from.findings.plans_built;
  if (!findings.failure) findings.failure = from.findings.failure;
  for (const auto& run : from.executed)
    if (const auto known = log::find_config(into.executed, run); known != into.executed.end())
      known->times += run.times;
    else
      into.executed.push_back(run);
}

void MergedHistory::add(replay::LogHistory&& from, int64_t pid) {
  for (auto& graph : from.graphs) {
    graph.first_line = 0;  // of a file that will be gone
    const auto [place, is_new] =
        places_.try_emplace({graph.hash, graph.cudnn_version, graph.device, graph.sm}, history.graphs.size());
    if (!is_new) {
      merge(history.graphs[place->second], graph);
      auto& seen = pids[place->second];
      if (std::find(seen.begin(), seen.end(), pid) == seen.end()) seen.push_back(pid);
    } else if (history.graphs.size() < most_graphs) {
      history.graphs.push_back(std::move(graph));
      pids.push_back({pid});
    } else {
      places_.erase(place);
      ++dropped;
    }
  }
  history.versions.insert(from.versions.begin(), from.versions.end());
  for (const auto& [severity, count] : from.severities) history.severities[severity] += count;
  history.lines += from.lines;
  history.broken_entries += from.broken_entries;
  const std::string process = "process " + std::to_string(pid) + ", ";
  add_lines(history.problems, from.problems, process);
  add_lines(history.exceptions, from.exceptions, "");
}

}  // namespace attnprobe::trace
