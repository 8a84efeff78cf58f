#include "report/formats/replay_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "attention/config.hpp"
#include "attention/fields.hpp"
#include "base/input.hpp"
#include "base/number.hpp"
#include "cudnn/library_info.hpp"
#include "log/log_parse.hpp"
#include "probe/walk_difference.hpp"

namespace attnprobe::report {
namespace {

using replay::LoggedGraph;
using replay::ReplayedGraph;

std::string where_text(const LoggedGraph& logged) {
  std::string text = logged.file;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (logged.first_line > 0) add(fmt::format("line {}", logged.first_line));
  if (logged.cudnn_version.is_known()) add("cuDNN " + logged.cudnn_version.text());
  if (!logged.device.empty() || logged.sm != 0)
    add(logged.device.empty() ? fmt::format("sm_{}", logged.sm) : fmt::format("{} (sm_{})", logged.device, logged.sm));
  if (logged.finalized > 1) add("made " + as_often(logged.finalized));
  if (logged.from_tree) add("from the indented tree");
  return text;
}

void add_history(std::string& out, const LoggedGraph& logged, const TextStyle& style) {
  if (logged.findings.failure) {
    const auto& failure = *logged.findings.failure;
    out += wrapped(fmt::format("in the log: cuDNN refused the graph itself: {}{}{}", failure.cudnn.status,
                               failure.cudnn.last_error.empty() ? "" : ": ", failure.cudnn.last_error),
                   3, style.width);
  }
  for (const auto& mode : logged.findings.modes)
    out += fmt::format("   in the log: mode {} proposed {}, {} viable{}\n", mode.mode,
                       counted(mode.candidates, "engine config"), mode.viable,
                       mode.status == "CUDNN_STATUS_SUCCESS" ? "" : " (" + mode.status + ")");
  std::vector<std::vector<std::string>> rows;
  for (const auto& config : logged.findings.engine_configs) {
    std::string what;
    if (!config.check.supported) {
      const auto reason = probe::innermost_reason(config);
      what = fmt::format("rejected: {}{}{}", reason.status, reason.reason.empty() ? "" : ": ", reason.reason);
    } else if (config.plan && !probe::is_built(config)) {
      what = fmt::format("plan failed: {}{}", config.plan->status,
                         config.plan->reasons.empty() ? "" : ": " + config.plan->reasons.front().reason);
    }
    if (const auto run = log::find_config(logged.executed, config); run != logged.executed.end())
      what = "executed " + as_often(run->times);
    if (what.empty() && config.plan) what = "plan built";
    if (!what.empty() || style.details)
      rows.push_back({probe::config_name(config.engine, config.knobs), what.empty() ? "viable" : what});
  }
  out += aligned(rows, 5);
}

Json logged_json(const ReplayedGraph& graph) {
  const LoggedGraph& logged = graph.logged;
  Json json = {{"number", graph.number},
               {"description", graph.recognised.description},
               {"recognised", graph.recognised.exact},
               {"hash", logged.imported ? Json(logged.hash) : Json()},
               {"problem", logged.problem.empty() ? Json() : Json(logged.problem)},
               {"notes", graph.notes},
               {"file", logged.file.empty() ? Json() : Json(logged.file)},
               {"line", logged.first_line},
               {"finalized", logged.finalized},
               {"plans", logged.plans},
               {"plan_seconds", logged.plan_seconds},
               {"from_tree", logged.from_tree},
               {"kind", logged.kind},
               {"cudnn", logged.cudnn_version.is_known() ? Json(logged.cudnn_version.text()) : Json()},
               {"device", logged.device},
               {"sm", logged.sm},
               {"config", graph.recognised.exact && graph.recognised.spec ? to_json(*graph.recognised.spec) : Json()}};
  json["failure"] = logged.findings.failure ? Json(*logged.findings.failure) : Json();
  json["modes"] = logged.findings.modes;
  json["engine_configs"] = logged.findings.engine_configs;
  json["executed"] = logged.executed;
  return json;
}

// Results are ordered by question, then by target.
template <class F>
void for_each_pair(const std::vector<const ReplayedGraph*>& graphs, const Results& results, F&& f) {
  for (const auto* graph : graphs)
    for (const auto* result : results)
      if (result->config.spec.name == fmt::format("graph {}", graph->number)) f(*graph, *result);
}

}  // namespace

std::string replay_text(const replay::Replay& replay, const std::vector<size_t>& numbers, const TextStyle& style) {
  const replay::LogHistory& history = replay.history;
  std::string out = input_name(replay.file);
  int64_t entries = 0;
  for (const auto& [severity, count] : history.severities) entries += count;
  out += ": " + counted(static_cast<int64_t>(replay.graphs.size()), "operation graph");
  if (entries > 0)
    out += fmt::format(" in {} of cuDNN's log", entries == 1 ? "1 entry" : fmt::format("{} entries", entries));
  out += "\n";
  if (!replay.problem.empty()) out += fmt::format("  the file: {}\n", replay.problem);
  if (history.broken_entries > 0)
    out += fmt::format("  incomplete entries: {} (cuDNN truncates long ones)\n", history.broken_entries);
  for (const auto& problem : history.problems) out += wrapped(problem, 2, style.width);
  for (const auto& graph : replay.graphs) {
    if (!numbers.empty() && std::find(numbers.begin(), numbers.end(), graph.number) == numbers.end()) continue;
    out += fmt::format("\n{}. {}\n", graph.number, graph.recognised.description);
    if (const std::string where = where_text(graph.logged); !where.empty()) out += "   " + where + "\n";
    if (graph.logged.imported) out += fmt::format("   hash {}\n", graph.logged.hash);
    add_history(out, graph.logged, style);
    if (graph.recognised.exact && graph.recognised.spec && attention::has_config(*graph.recognised.spec))
      out += fmt::format("   the same graph: attnprobe {}\n", to_options(*graph.recognised.spec));
    for (const auto& note : graph.notes) out += wrapped("- " + note, 3, style.width);
  }
  return out + "\n";
}

std::string agreement_text(const std::vector<const ReplayedGraph*>& graphs, const Results& results,
                           const TextStyle& style) {
  std::string out;
  for_each_pair(graphs, results, [&](const ReplayedGraph& graph, const answer::Answer& result) {
    if (graph.logged.first_line == 0) return;  // not from a log
    const replay::Agreement agreement = compare(graph, result);
    const std::string head = fmt::format("graph {} on {}: ", graph.number, result.target.id);
    if (!agreement.is_compared) {
      out += wrapped(head + "not compared with the log: " + agreement.why_not, 0, style.width);
    } else if (agreement.differences.empty()) {
      out += head + "as in the log, engine by engine and reason by reason\n";
    } else {
      out += head + "NOT as in the log\n";
      for (const auto& line : agreement.differences) out += wrapped(line, 4, style.width);
    }
  });
  return out;
}

Json replay_json(const replay::Replay& replay, const std::vector<const ReplayedGraph*>& graphs,
                 const Results& results) {
  Json json = {{"file", replay.file}, {"problems", replay.history.problems}};
  if (!replay.problem.empty()) json["problems"].push_back(replay.problem);
  json["cudnn_versions"] = Json::array();
  for (const auto version : replay.history.versions) json["cudnn_versions"].push_back(version.text());
  json["graphs"] = Json::array();
  for (const auto* graph : graphs) {
    json["graphs"].push_back(logged_json(*graph));
    json["graphs"].back()["agreements"] = Json::array();
  }
  for_each_pair(graphs, results, [&](const ReplayedGraph& graph, const answer::Answer& result) {
    const replay::Agreement agreement = compare(graph, result);
    for (auto& entry : json["graphs"])
      if (entry["number"] == graph.number)
        entry["agreements"].push_back({{"target", result.target.id},
                                       {"compared", agreement.is_compared},
                                       {"why_not", agreement.why_not},
                                       {"differences", agreement.differences}});
  });
  return json;
}

}  // namespace attnprobe::report
