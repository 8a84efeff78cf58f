#include "replay/merged_history.hpp"

#include <algorithm>
#include <iterator>

#include "log/log_parse.hpp"
#include "replay/logged_graph.hpp"

namespace attnprobe::replay {
namespace {

constexpr size_t most_lines_kept = 20;  // limits on problems and exceptions

void add_lines(std::vector<std::string>& into, const std::vector<std::string>& from, const std::string& prefix) {
  for (const auto& line : from)
    if (into.size() < most_lines_kept && std::find(into.begin(), into.end(), prefix + line) == into.end())
      into.push_back(prefix + line);
}

void merge_config(probe::EngineConfigFindings& into, const probe::EngineConfigFindings& from) {
  for (const auto& mode : from.modes) {
    const auto rank = from.rank.find(mode);
    note_mode(into, mode, rank == from.rank.end() ? std::nullopt : std::optional<int64_t>(rank->second));
  }
  if (!into.check.supported) {
    into.check = from.check;
    if (!from.reasons.empty()) into.reasons = from.reasons;
  }
  if (from.plan && (!into.plan || !probe::is_built(into))) into.plan = from.plan;
}

}  // namespace

void merge(LoggedGraph& into, const LoggedGraph& from) {
  into.finalized += from.finalized;
  into.plans += from.plans;
  into.plan_seconds += from.plan_seconds;
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

void MergedHistory::add(LogHistory&& from, int64_t source, const std::string& name) {
  for (auto& graph : from.graphs) {
    graph.file = name;
    const auto [place, is_new] =
        places_.try_emplace({graph.hash, graph.cudnn_version, graph.device, graph.sm}, history.graphs.size());
    if (!is_new) {
      merge(history.graphs[place->second], graph);
      auto& seen = sources[place->second];
      if (std::find(seen.begin(), seen.end(), source) == seen.end()) seen.push_back(source);
    } else if (history.graphs.size() < most_graphs) {
      history.graphs.push_back(std::move(graph));
      sources.push_back({source});
    } else {
      places_.erase(place);
      ++dropped;
    }
  }
  for (auto& text : from.frontend) {
    if (!frontend_.insert(text.json).second) continue;
    text.file = name;
    history.frontend.push_back(std::move(text));
  }
  history.versions.insert(from.versions.begin(), from.versions.end());
  for (const auto& [severity, count] : from.severities) history.severities[severity] += count;
  history.lines += from.lines;
  history.broken_entries += from.broken_entries;
  history.parts += from.parts;
  history.ends_in_entry = history.ends_in_entry || from.ends_in_entry;
  if (!history.old_attention) history.old_attention = from.old_attention;
  add_lines(history.problems, from.problems, name + ", ");
  add_lines(history.exceptions, from.exceptions, "");
}

}  // namespace attnprobe::replay
