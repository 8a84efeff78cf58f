#include "replay/replay.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/input.hpp"
#include "base/json_reader.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "cudnn/library_info.hpp"
#include "gpu/catalogue.hpp"
#include "importers/cudnn_frontend/import_frontend.hpp"
#include "importers/import.hpp"
#include "probe/walk_difference.hpp"
#include "replay/read_history.hpp"

namespace attnprobe::replay {
namespace {

// A graph as written by cudnn-frontend: unexpanded attention, which is already a config. The GPU determines which graph
// cudnn-frontend builds from it.
ReplayedGraph from_frontend(const std::string& text) {
  ReplayedGraph graph;
  graph.is_frontend = true;
  const importers::FrontendGraph found =
      importers::import_frontend_json(parse_json(text, {"cudnn-frontend's JSON", ": ", false}));
  const build::BuildContext context{found.cudnn_version, 0};
  graph.notes = found.notes;
  if (found.stored_plan && found.stored_plan->contains("operationGraph")) {
    // The graph that cuDNN actually received, including score modifiers.
    graph.is_frontend = false;
    graph.logged =
        graph_without_log(importers::import_backend_json((*found.stored_plan)["operationGraph"]), found.cudnn_version);
    graph.recognised = recognise::recognise_graph(graph.logged.imported->graph, context);
  } else if (found.spec) {
    const auto built = build::build_graph(*found.spec, context);
    graph.logged = graph_without_log({built.graph, {}, {}}, found.cudnn_version);
    graph.recognised.spec = found.spec;
    graph.recognised.exact = true;
    graph.recognised.named = built.graph;
    graph.recognised.description = describe(*found.spec);
  } else if (found.graph) {
    graph.logged = graph_without_log({*found.graph, {}, {}}, found.cudnn_version);
    graph.recognised = recognise::recognise_graph(*found.graph, context);
  } else {
    std::string tags;
    for (const auto& tag : found.tags) tags += (tags.empty() ? "" : ", ") + tag;
    graph.logged.problem = "no attention: " + tags;
    graph.recognised.description = graph.logged.problem;
  }
  return graph;
}

// Only the damaged graph is lost; the log's other graphs are read.
ReplayedGraph readable_from_frontend(const replay::FrontendText& text) {
  std::string problem;
  try {
    return from_frontend(text.json);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    problem = e.what();
  }
  ReplayedGraph graph;
  graph.is_frontend = true;
  graph.logged.problem = text.line == 0 ? problem : fmt::format("line {}: {}", text.line, problem);
  graph.recognised.description = fmt::format("a graph of cudnn-frontend that cannot be read: {}", problem);
  return graph;
}

// The log's own facts are kept, regardless of the recognised config.
recognise::Recognised recognised_in_log(const replay::LoggedGraph& logged) try {
  return recognise::recognise_graph(logged.imported->graph, {logged.cudnn_version, logged.sm});
} catch (const std::bad_alloc&) {
  throw;
} catch (const std::exception& e) {
  recognise::Recognised none;
  none.description = fmt::format("a graph that cannot be read: {}", e.what());
  return none;
}

void recognise_all(Replay& replay) {
  for (auto& logged : replay.history.graphs) {
    ReplayedGraph graph;
    graph.number = replay.graphs.size() + 1;
    graph.logged = std::move(logged);
    if (const auto& imported = graph.logged.imported) {
      graph.recognised = recognised_in_log(graph.logged);
      for (const auto& missing : imported->missing) graph.notes.push_back("not in the log: " + missing);
      for (const auto& inferred : imported->inferred) graph.notes.push_back("inferred: " + inferred);
      graph.notes.insert(graph.notes.end(), graph.recognised.notes.begin(), graph.recognised.notes.end());
    } else {
      graph.recognised.description = graph.logged.problem;
    }
    replay.graphs.push_back(std::move(graph));
  }
  replay.history.graphs.clear();
  // If a log has both, cuDNN's own entries have the graphs that resulted from cudnn-frontend's.
  const bool has_graphs = !replay.graphs.empty();
  for (const auto& text : replay.history.frontend) {
    ReplayedGraph graph = readable_from_frontend(text);
    const bool is_known = std::any_of(replay.graphs.begin(), replay.graphs.end(), [&](const auto& other) {
      return has_graphs && !graph.logged.hash.empty() && other.logged.hash == graph.logged.hash;
    });
    if (is_known) continue;
    graph.logged.file = text.file;
    if (!graph.logged.imported) graph.logged.first_line = text.line;
    graph.number = replay.graphs.size() + 1;
    replay.graphs.push_back(std::move(graph));
  }
}

// The catalogue's GPU for the log: by name, otherwise the representative target of its architecture.
const gpu::Target* gpu_of(const replay::LoggedGraph& logged) {
  gpu::Target seen;
  seen.kind = gpu::Kind::device;
  seen.name = logged.device;
  if (const gpu::Target* twin = gpu::twin(seen)) return twin;
  const gpu::Target* alike = nullptr;
  for (const auto& gpu : gpu::catalogue())
    if (gpu.sm == logged.sm && (alike == nullptr || (gpu.representative && !alike->representative))) alike = &gpu;
  return alike;
}

std::string old_attention_text(const OldAttentionCall& call) {
  std::string text = fmt::format(
      "line {}: {} belongs to cuDNN's multi-head attention API from before operation graphs, and attnprobe rebuilds "
      "operation graphs only.",
      call.line, call.function);
  if (call.projected_q && call.projected_k && *call.projected_q != *call.projected_k)
    text += fmt::format(
        " The projected sizes of Q and K are {} and {}, and cuDNN refuses sizes that differ with CUDNN_STATUS_BAD_PARAM "
        "(measured: 9.19.0). Make qProjSize equal to kProjSize, or better use the graph API (SDPA)",
        *call.projected_q, *call.projected_k);
  else
    text += " Use the graph API (SDPA)";
  return text;
}

[[noreturn]] void refuse(const Replay& replay, const std::string& what) {
  throw Error(ErrorKind::usage, fmt::format("{}: {}. {}", input_name(replay.file), what, how_to_log()));
}

}  // namespace

std::string how_to_log() {
  return "To record operation graphs, start the failing program with CUDNN_LOGLEVEL_DBG=3 CUDNN_LOGDEST_DBG=cudnn-%i.log (cuDNN 9; %i becomes the process id)";
}

Replay read_replay(const std::string& file) {
  return read_replay_of(file, [&](const auto& take, std::string* problem) { read_input(file, take, problem); });
}

Replay read_replay_of(const std::string& name, const GiveText& give) {
  Replay replay;
  replay.file = name;
  replay.files = {name};
  replay.history = read_history(name, give, &replay.problem);
  recognise_all(replay);
  return replay;
}

Replay read_replays(const std::vector<std::string>& files) {
  const std::vector<std::string> logs = logs_in(files);
  Replay replay;
  if (files.size() == 1 && logs == files) {
    replay = read_replay(files.front());
  } else {
    replay.file = files.size() == 1 ? files.front() : fmt::format("{} files", logs.size());
    replay.history = read_merged(logs);
    recognise_all(replay);
  }
  replay.files = files;
  return replay;
}

Replay replay_of(const std::string& name, LogHistory history) {
  Replay replay;
  replay.file = name;
  replay.files = {name};
  replay.history = std::move(history);
  recognise_all(replay);
  return replay;
}

void require_graphs(const Replay& replay) {
  const replay::LogHistory& history = replay.history;
  const bool shows_any = std::any_of(replay.graphs.begin(), replay.graphs.end(),
                                     [](const auto& graph) { return graph.logged.imported.has_value(); });
  if (shows_any) return;
  if (!replay.graphs.empty() && history.has_info())
    refuse(replay, "none of its graphs could be rebuilt: " + replay.graphs.front().logged.problem);
  throw Error(ErrorKind::usage, why_no_graph(replay));
}

std::string why_no_graph(const Replay& replay) {
  const LogHistory& history = replay.history;
  const std::string name = input_name(replay.file);
  const auto with_advice = [&](const std::string& what) { return fmt::format("{}: {}. {}", name, what, how_to_log()); };
  if (!replay.graphs.empty() && !history.has_entries())
    return fmt::format("{}: {}", name, replay.graphs.front().recognised.description);
  if (history.old_attention) return fmt::format("{}: {}", name, old_attention_text(*history.old_attention));
  if (!history.has_entries())
    return with_advice(fmt::format("no output of cuDNN or cudnn-frontend found in it{}",
                                   replay.problem.empty() ? "" : fmt::format(" ({})", replay.problem)));
  if (!history.has_info())
    return with_advice("the log level was too low: only warnings and errors, which show no operation graph");
  std::string incomplete;
  const auto add = [&](const std::string& sign) { incomplete += (incomplete.empty() ? "" : ", ") + sign; };
  if (!replay.problem.empty()) add(replay.problem);
  if (history.ends_in_entry) add("it ends in the middle of an entry");
  if (history.parts > 0) add(fmt::format("it shows {} tensors and operations, but not their graph", history.parts));
  if (!incomplete.empty())
    return fmt::format("{}: the log is incomplete ({}) and contains no operation graph. Give the whole log", name,
                       incomplete);
  return fmt::format(
      "{}: the log contains no operation graph. Either the call was refused before cuDNN was asked, or the log is "
      "incomplete. The program's exception shows which: `attnprobe explain -` reads it from standard input",
      name);
}

answer::Question question_of(const Replay& replay, const ReplayedGraph& graph) {
  answer::Question question;
  answer::GivenGraph given;
  const recognise::Recognised& recognised = graph.recognised;
  if (graph.is_frontend && recognised.spec) {
    question.config.spec = *recognised.spec;
    question.config.spec.name = fmt::format("graph {}", graph.number);
    return question;
  }
  given.is_recognised = recognised.exact && recognised.spec && recognised.named;
  if (given.is_recognised) question.config.spec = *recognised.spec;
  given.graph = given.is_recognised ? *recognised.named : graph.logged.imported->graph;
  given.description = recognised.description;
  given.notes = graph.notes;
  given.command = "attnprobe replay";
  for (const auto& file : replay.files) given.command += " " + shell_word(file);
  given.command += fmt::format(" --graph {}", graph.number);
  auto& spec = question.config.spec;
  spec.name = fmt::format("graph {}", graph.number);
  // The log's outcome is expected only on the log's own GPU.
  if (graph.logged.refused())
    if (const gpu::Target* gpu = gpu_of(graph.logged))
      spec.expect.by_target[gpu->id] = attention::ExpectedVerdict::unsupported;
  question.given = std::move(given);
  return question;
}

std::string gpus_of(const std::vector<const ReplayedGraph*>& graphs) {
  std::vector<std::string> ids;
  for (const auto* graph : graphs)
    if (const gpu::Target* gpu = gpu_of(graph->logged))
      if (std::find(ids.begin(), ids.end(), gpu->id) == ids.end()) ids.push_back(gpu->id);
  return fmt::format("{}", fmt::join(ids, ","));
}

std::string gpus_of(const Replay& replay) {
  std::vector<const ReplayedGraph*> graphs;
  for (const auto& graph : replay.graphs) graphs.push_back(&graph);
  return gpus_of(graphs);
}

Agreement compare(const ReplayedGraph& graph, const answer::Answer& result) {
  Agreement agreement;
  const replay::LoggedGraph& logged = graph.logged;
  if (logged.findings.modes.empty() && !logged.findings.failure)
    agreement.why_not = "the log shows no heuristics for this graph";
  else if (logged.cudnn_version != result.cudnn_version)
    agreement.why_not = fmt::format("the log is of cuDNN {}", logged.cudnn_version.text());
  else if (logged.sm != result.target.sm)
    agreement.why_not =
        fmt::format("the log is of {}", logged.device.empty() ? fmt::format("sm_{}", logged.sm) : logged.device);
  else if (result.crash)
    agreement.why_not = "attnprobe did not get a complete answer";
  agreement.is_compared = agreement.why_not.empty();
  if (agreement.is_compared) agreement.differences = probe::walk_differences(logged.findings, result.findings);
  return agreement;
}

}  // namespace attnprobe::replay
