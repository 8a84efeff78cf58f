#include "trace/trace_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "attention/fields.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "explain/graph_text.hpp"
#include "log/log_parse.hpp"
#include "probe/walk_difference.hpp"
#include "replay/explanation.hpp"
#include "report/formats/replay_text.hpp"
#include "studies/plans/bill_text.hpp"
#include "studies/plans/logged_workload.hpp"

namespace attnprobe::trace {
namespace {

using replay::LoggedGraph;
using replay::ReplayedGraph;
using report::TextStyle;
using report::wrapped;

bool is_attention(const ReplayedGraph& graph) {
  return graph.recognised.spec.has_value();
}

const char* direction_of(const ReplayedGraph& graph) {
  return graph.recognised.spec->pass == attention::Pass::bprop ? "backward" : "forward";
}

int64_t executions_of(const LoggedGraph& logged) {
  int64_t times = 0;
  for (const auto& run : logged.executed) times += run.times;
  return times;
}

std::string megabytes(int64_t bytes) {
  constexpr double mega = 1e6;
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / mega);
}

std::string command_of(const std::vector<std::string>& words) {
  std::string command;
  for (const auto& word : words) command += (command.empty() ? "" : " ") + shell_word(word);
  return cut(command);
}

// "libcudnn.so.9" of a process; nullptr if not seen.
const machine::MappedLibrary* cudnn_of(const TracedProcess& process) {
  for (const auto& library : process.libraries)
    if (library.name.starts_with("libcudnn.so")) return &library;
  return nullptr;
}

// " 9.19.1": from the file's name if it has a version, otherwise from the logs if all have the same version.
std::string version_text(const std::string& of_file, const std::set<CudnnVersion>& of_logs) {
  if (!of_file.empty()) return " " + of_file;
  return of_logs.size() == 1 ? " " + of_logs.begin()->text() : "";
}

// Lists processes with the same cuDNN on one line.
std::string processes_text(const TraceFindings& findings, const TextStyle& style) {
  std::map<std::string, std::vector<const TracedProcess*>> by_library;
  for (const auto& process : findings.processes) {
    const auto* library = cudnn_of(process);
    std::string name;
    if (library != nullptr)
      name =
          fmt::format("cuDNN{}, {}", version_text(library->version, findings.replay.history.versions), library->path);
    by_library[name].push_back(&process);
  }
  std::string out;
  for (const auto& [library, processes] : by_library) {
    constexpr size_t most_named = 8;
    std::string pids;
    for (size_t i = 0; i < processes.size() && i < most_named; ++i)
      pids += fmt::format("{}{}", i == 0 ? "" : ", ", processes[i]->pid);
    if (processes.size() > most_named) pids += fmt::format(" and {} more", processes.size() - most_named);
    out += wrapped(fmt::format("{} in {} {}", library.empty() ? "cuDNN, its file not seen," : library,
                               processes.size() == 1 ? "process" : "processes", pids),
                   2, style.width);
  }
  std::set<std::string> said;
  for (const auto& process : findings.processes)
    for (const auto& problem : process.problems)
      if (said.insert(problem.what).second)
        out += wrapped(fmt::format("problem: {}; {}", problem.what, problem.cure), 2, style.width);
  return out;
}

// "8 x NVIDIA H200".
std::string listed_gpus(const std::vector<std::string>& gpus) {
  std::map<std::string, int> counts;
  for (const auto& gpu : gpus) ++counts[gpu];
  std::string text;
  for (const auto& [gpu, count] : counts)
    text += (text.empty() ? "" : ", ") + (count == 1 ? gpu : fmt::format("{} x {}", count, gpu));
  return text;
}

// For a graph that works: engines, runs, and rejected engine configs.
std::string engines_text(const ReplayedGraph& graph, const TextStyle& style) {
  const LoggedGraph& logged = graph.logged;
  std::string out;
  int64_t rejected = 0;
  std::vector<std::string> failed;
  for (const auto& config : logged.findings.engine_configs) {
    if (!config.check.supported) ++rejected;
    if (config.check.supported && config.plan && !probe::is_built(config))
      failed.push_back(
          fmt::format("{}: its plan failed: {}", probe::config_name(config.engine, config.knobs), config.plan->status));
    if (config.plan && probe::is_built(config) && !log::has_config(logged.executed, config))
      out += fmt::format("   {}: plan built\n", probe::config_name(config.engine, config.knobs));
  }
  for (const auto& run : logged.executed)
    out += fmt::format("   {}: executed {}\n", probe::config_name(run.engine, run.knobs), as_often(run.times));
  for (const auto& line : failed) out += wrapped(line, 3, style.width);
  if (rejected > 0) out += fmt::format("   {} rejected before\n", counted(rejected, "engine config"));
  return out;
}

std::string worked_text(const ReplayedGraph& graph, size_t processes, const TextStyle& style) {
  const LoggedGraph& logged = graph.logged;
  const replay::Explanation explanation = replay::explain(logged, graph.recognised);
  std::string out = fmt::format("{}. {}\n", graph.number, graph.recognised.description);
  std::string line = direction_of(graph);
  line += fmt::format("; built {}, {}", as_often(logged.finalized),
                      logged.executed.empty() ? "not seen executed" : "executed " + as_often(executions_of(logged)));
  if (processes > 1) line += fmt::format(", in {} processes", processes);
  line += fmt::format("; cuDNN {}", logged.cudnn_version.text());
  if (!logged.device.empty() || logged.sm != 0)
    line += fmt::format(" on {}", logged.device.empty() ? fmt::format("sm_{}", logged.sm) : logged.device);
  if (!explanation.works) line += "; the log does not show whether an engine was requested";
  out += wrapped(line, 3, style.width) + engines_text(graph, style);
  for (const auto& bug : explanation.known_bugs)
    out +=
        wrapped(fmt::format("known bug, by rule: {} {} ({})", bug.what, bug.advice, bug.source.text), 3, style.width);
  if (!graph.recognised.exact)
    for (const auto& note : graph.notes) out += wrapped("- " + note, 3, style.width);
  return out;
}

std::string end_text(const Trace& trace) {
  return fmt::format("{} after {:.1f} s", trace.end.text(), trace.seconds);
}

std::string plans_text(const Trace& trace, const TextStyle& style) {
  const plans::BuiltPlans built = plans::built_plans(trace.findings.replay);
  if (built.plans == 0) return "";
  std::string out =
      fmt::format("plans: {} built in {:.2f} s, as logged\n", counted(built.plans, "attention plan"), built.seconds);
  if (trace.bill) out += plans::short_bill_text(*trace.bill);
  if (!trace.no_bill.empty()) out += wrapped("kernels: not counted: " + trace.no_bill, 0, style.width);
  return out;
}

// Why there may be nothing to report.
std::string nothing_text(const TraceFindings& findings) {
  if (findings.processes.empty())
    return "no process wrote a cuDNN log: none loaded cuDNN, or none used it. A framework that refuses a call prints at most a warning. --stderr also reads warnings; `attnprobe probe --framework …` checks the framework's rules.";
  return "cuDNN was loaded, but none of its graphs is attention. A framework that refuses a call prints at most a warning. --stderr also reads warnings; `attnprobe probe --framework …` checks the framework's rules.";
}

std::string others_text(const TraceFindings& findings) {
  int64_t others = 0, runs = 0, refused = 0;
  for (const auto& graph : findings.replay.graphs) {
    if (is_attention(graph)) continue;
    ++others;
    runs += executions_of(graph.logged);
    refused += graph.logged.refused() ? 1 : 0;
  }
  if (others == 0) return "";
  return fmt::format("other graphs: {} that {} not attention, executed {}{}\n", counted(others, "graph"),
                     others == 1 ? "is" : "are", as_often(runs),
                     refused == 0 ? "" : fmt::format(", {} refused", refused));
}

std::string frontend_text(const std::vector<FrontendRefusal>& refusals, const TextStyle& style) {
  if (refusals.empty()) return "";
  std::string out = "\nrefused by cudnn-frontend itself, before cuDNN was asked\n";
  for (const auto& refusal : refusals) {
    out += wrapped(fmt::format("- {}, {}", describe(refusal.spec), as_often(refusal.times)), 2, style.width);
    out += wrapped(refusal.message, 4, style.width) + wrapped(refusal.meaning, 4, style.width);
  }
  return out;
}

// The findings in cudnn-frontend's log, except the lines already listed with their attention.
explain::TextAnswer besides_refusals(const TraceFindings& findings) {
  explain::TextAnswer answer = findings.frontend;
  std::erase_if(answer.refusals, [&](const explain::Refusal& refusal) {
    return std::any_of(findings.frontend_refusals.begin(), findings.frontend_refusals.end(),
                       [&](const auto& other) { return other.message.find(refusal.said) != std::string::npos; });
  });
  return answer;
}

// Each line that explains a refusal, once, with its meaning.
std::string answers_text(const char* head, const explain::TextAnswer& answer, const TextStyle& style) {
  constexpr size_t most_lines = 12;
  std::set<int64_t> lines;
  std::string out;
  for (const auto& refusal : answer.refusals) {
    if (refusal.kind != explain::MessageKind::refusal || lines.size() == most_lines) continue;
    if (!lines.insert(refusal.first_line).second) continue;
    out +=
        wrapped(fmt::format("- {}{}: {}", refusal.headline,
                            refusal.times > 1 ? fmt::format(", {} times", refusal.times) : std::string(), refusal.line),
                2, style.width);
    out += wrapped(refusal.means, 4, style.width);
  }
  return out.empty() ? "" : fmt::format("\n{}\n", head) + out;
}

}  // namespace

std::string trace_text(const Trace& trace, const TraceOptions& options, const TextStyle& style) {
  const TraceFindings& findings = trace.findings;
  const auto& graphs = findings.replay.graphs;
  int64_t attention = 0, refused = 0;
  for (const auto& graph : graphs) {
    attention += is_attention(graph) ? 1 : 0;
    refused += is_attention(graph) && graph.logged.refused() ? 1 : 0;
  }
  std::string out =
      wrapped(fmt::format("attnprobe trace: {}: {}", command_of(options.words), end_text(trace)), 0, style.width);
  const size_t before = findings.frontend_refusals.size();
  out +=
      fmt::format("  {} distinct attention graph{} reached cuDNN, {} refused{}\n", attention, attention == 1 ? "" : "s",
                  refused, before == 0 ? "" : fmt::format("; {} refused by cudnn-frontend before", before));
  out += processes_text(findings, style);
  if (attention > 0 && !findings.gpus.empty())
    out += wrapped(fmt::format("this machine has {}", listed_gpus(findings.gpus)), 2, style.width);
  for (const auto& note : findings.notes) out += wrapped("note: " + note, 2, style.width);
  if (attention == 0 && before == 0) out += wrapped(nothing_text(findings), 2, style.width);
  constexpr int most_shown = 100;  // of working graphs
  int shown = 0;
  for (size_t i = 0; i < graphs.size(); ++i) {
    if (!is_attention(graphs[i])) continue;
    if (graphs[i].logged.refused())
      out += "\n" + explain::graph_text(graphs[i], style);
    else if (++shown <= most_shown)
      out += "\n" + worked_text(graphs[i], i < findings.pids.size() ? findings.pids[i].size() : 1, style);
  }
  if (shown > most_shown) out += fmt::format("\nand {} more that work; --format json has all\n", shown - most_shown);
  if (attention > 0) out += "\n";
  out += plans_text(trace, style);
  out += others_text(findings);
  out += frontend_text(findings.frontend_refusals, style);
  out += answers_text("cudnn-frontend's log says", besides_refusals(findings), style);
  out += answers_text("the program's standard error says", findings.program_stderr, style);
  out += fmt::format(
      "logs: {} read, {:.1f} s of processor time{}\n", megabytes(findings.bytes_read), findings.reading_cpu_seconds,
      findings.bytes_passed_over == 0 ? ""
                                      : fmt::format("; {} were written too fast to read, so counts are too low",
                                                    megabytes(findings.bytes_passed_over)));
  return out;
}

Json trace_json(const Trace& trace, const TraceOptions& options) {
  const TraceFindings& findings = trace.findings;
  std::vector<const ReplayedGraph*> graphs;
  for (const auto& graph : findings.replay.graphs) graphs.push_back(&graph);
  Json replayed = report::replay_json(findings.replay, graphs, {});
  Json listed = Json::array();
  for (size_t i = 0; i < graphs.size(); ++i) {
    Json json = std::move(replayed["graphs"][i]);
    json.erase("agreements");
    json.erase("line");
    const replay::Explanation explanation = replay::explain(graphs[i]->logged, graphs[i]->recognised);
    json["attention"] = is_attention(*graphs[i]);
    json["direction"] = is_attention(*graphs[i]) ? Json(direction_of(*graphs[i])) : Json();
    json["verdict"] = explanation.works ? Json("works") : explanation.refused ? Json("refused") : Json();
    json["executions"] = executions_of(graphs[i]->logged);
    json["root_cause"] = explanation.cause ? Json(*explanation.cause) : Json();
    json["reasons"] = explanation.reasons;
    json["requirements"] = explanation.requirements;
    json["known_bugs"] = explanation.known_bugs;
    json["processes"] = i < findings.pids.size() ? Json(findings.pids[i]) : Json::array();
    listed.push_back(std::move(json));
  }
  Json refused_before = Json::array();
  for (const auto& refusal : findings.frontend_refusals)
    refused_before.push_back({{"description", describe(refusal.spec)},
                              {"config", to_json(refusal.spec)},
                              {"message", refusal.message},
                              {"meaning", refusal.meaning},
                              {"times", refusal.times}});
  const plans::BuiltPlans built = plans::built_plans(findings.replay);
  return {{"schema", "attnprobe/trace/1"},
          {"tool", {{"name", "attnprobe"}, {"version", report::tool_version()}}},
          {"command", options.words},
          {"end",
           {{"exit_status", trace.end.signalled ? Json() : Json(trace.end.code)},
            {"signal", trace.end.signalled ? Json(trace.end.code) : Json()},
            {"text", trace.end.text()}}},
          {"seconds", trace.seconds},
          {"gpus", findings.gpus},
          {"processes", findings.processes},
          {"graphs", std::move(listed)},
          {"plans",
           {{"built", built.plans},
            {"seconds", built.seconds},
            {"bill", trace.bill ? plans::bill_json(*trace.bill) : Json()},
            {"no_bill", trace.no_bill}}},
          {"frontend_refusals", std::move(refused_before)},
          {"frontend", findings.frontend},
          {"stderr", findings.program_stderr},
          {"notes", findings.notes},
          {"problems", findings.replay.history.problems},
          {"logs",
           {{"bytes_read", findings.bytes_read},
            {"bytes_not_read", findings.bytes_passed_over},
            {"cpu_seconds", findings.reading_cpu_seconds}}}};
}

Json trace_configs(const Trace& trace, int64_t* left_out) {
  Json configs = Json::array();
  std::set<std::string> seen;
  const auto add = [&](attention::AttentionSpec spec, const std::string& name) {
    spec.name.clear();
    if (!seen.insert(to_json(spec).dump()).second) return;
    spec.name = name;
    configs.push_back(to_json(spec));
  };
  *left_out = 0;
  for (const auto& graph : trace.findings.replay.graphs) {
    if (!is_attention(graph)) continue;
    if (graph.recognised.exact)
      add(*graph.recognised.spec, fmt::format("attention {}", graph.number));
    else
      ++*left_out;
  }
  const auto& refusals = trace.findings.frontend_refusals;
  for (size_t i = 0; i < refusals.size(); ++i)
    add(refusals[i].spec, fmt::format("refused by cudnn-frontend {}", i + 1));
  return {{"configs", std::move(configs)}};
}

std::string news_line(const LoggedGraph& logged) {
  replay::LogHistory history;
  history.graphs.push_back(logged);
  const replay::Replay replay = replay::replay_of("the trace", std::move(history));
  const ReplayedGraph& graph = replay.graphs.front();
  if (!is_attention(graph)) return "";
  if (!logged.works()) {
    const replay::Explanation explanation = replay::explain(graph.logged, graph.recognised);
    return fmt::format("{}: refused{}", graph.recognised.description,
                       explanation.cause
                           ? fmt::format(" ({}): {}", name_of(explanation.cause->category), explanation.cause->reason)
                           : "");
  }
  for (const auto& run : logged.executed)
    return fmt::format("{}: {} executed", graph.recognised.description, probe::config_name(run.engine, run.knobs));
  for (const auto& config : logged.findings.engine_configs)
    if (config.plan && probe::is_built(config))
      return fmt::format("{}: {}, plan built", graph.recognised.description,
                         probe::config_name(config.engine, config.knobs));
  return fmt::format("{}: supported", graph.recognised.description);
}

}  // namespace attnprobe::trace
