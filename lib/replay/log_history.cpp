#include "replay/log_history.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_reader.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "log/log_entries.hpp"
#include "log/log_lines.hpp"
#include "log/status.hpp"
#include "replay/graphs_of_log.hpp"
#include "replay/logged_graph.hpp"
#include "replay/text_of_others.hpp"

namespace attnprobe::replay {
namespace {

using log::descriptor_of;
using log::engine_of_tree;
using log::EngineConfigLog;
using log::integer_of;
using log::is_function;
using log::joined;
using log::json_of;
using log::LogEntry;
using log::status_of;
using log::value_of;

std::optional<OldAttentionCall> old_attention_call(const LogEntry& entry) {
  if (!is_function(entry, "cudnnSetAttnDescriptor") && !is_function(entry, "cudnnMultiHeadAttn")) return std::nullopt;
  const auto size_of = [&](const char* key) {
    for (const auto& line : entry.lines)
      if (const auto value = value_of(line, key)) return integer_of(*value);
    return std::optional<int64_t>();
  };
  // A projection of size 0 is absent.
  const auto projected = [&](const char* projection, const char* size) {
    const auto value = size_of(projection);
    return value == 0 ? size_of(size) : value;
  };
  OldAttentionCall call{entry.function, entry.first_line, projected("qProjSize", "qSize"),
                        projected("kProjSize", "kSize")};
  return call;
}

bool is_part_of_graph(const std::string& descriptor) {
  return descriptor == "TENSOR" || descriptor.starts_with("OPERATION_");
}

// Older cuDNN versions log neither graphs as JSON nor statuses, only calls and the indented tree (docs/logs.md).
constexpr CudnnVersion first_with_graph_json{9, 2, 0};

}  // namespace

class LogReader::State {
 public:
  State()
      : splitter_([this](LogEntry&& entry) { take(entry); },
                  [this](std::string_view line, int64_t number) { text_.take(line, number); }) {}

  void feed(std::string_view bytes) { splitter_.feed(bytes); }

  const LogHistory& so_far() const { return history_; }

  LogHistory finish() {
    history_.ends_in_entry = splitter_.is_in_entry();
    splitter_.finish();
    take_loose();
    for (auto& [id, thread] : threads_) finish_query(thread, std::string(success));
    history_.lines = splitter_.lines();
    return std::move(history_);
  }

 private:
  // The state of a thread.
  struct Thread {
    std::optional<size_t> graph;  // index in the history
    bool graph_seen = false;      // as JSON, since its finalize began
    bool is_part = false;         // it is the score graph inside a unified SDPA operation
    std::optional<importers::ImportedGraph> from_calls;
    std::string finalizing;  // kind of the descriptor
    std::string begun;       // its time
    std::vector<std::string> tree;
    std::optional<log::EngineConfigLog> config;  // engine config being finalized, or the plan's
    std::vector<log::Reason> reasons;            // status of the object being finalized
    std::string mode = "?";
    bool fetching = false;
    int64_t requested = 0;
    std::vector<EngineConfigLog> candidates, rejected;
  };

  // Only the unreadable entry is lost; the following entries are read.
  void take(const LogEntry& entry) {
    guarded(entry.first_line, [&] { read(entry); });
    entry_ = nullptr;
  }

  template <class F>
  void guarded(int64_t line, F&& body) try {
    body();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    note_problem(history_, line, e.what());
  }

  void read(const LogEntry& entry) {
    ++history_.severities[entry.severity];
    // An incomplete entry does not name its thread; most likely it is the thread of the last entry.
    if (entry.whole)
      writer_ = {entry.process, entry.thread};
    else
      ++history_.broken_entries;
    if (entry.version.is_known()) history_.versions.insert(entry.version);
    Thread& thread = threads_[writer_];
    entry_ = &entry;
    if (entry.version < first_with_graph_json && entry.severity == 'I') read_call(thread, entry);
    graphs_.note_device(entry);
    if (!history_.old_attention) history_.old_attention = old_attention_call(entry);
    if (entry.severity != 'I') {
      take_complaint(thread, entry);
    } else if (is_function(entry, "cudnnBackendSetAttribute()")) {
      take_attribute(thread, entry);
    } else if (is_function(entry, "cudnnBackendFinalizeGraphVisualize()")) {
      take_graph_json(thread, entry);
    } else if (is_function(entry, "cudnnBackendFinalizeEngineCfgVisualize()")) {
      if (auto config = take_graph_json(thread, entry)) {
        if (thread.fetching)
          thread.candidates.push_back(std::move(*config));
        else
          thread.config = std::move(config);
      }
    } else if (is_function(entry, "cudnnBackendExecuteGraphVisualize()")) {
      if (const auto config = take_graph_json(thread, entry)) count_execution(thread, *config);
    } else if (entry.function.find("engine_config_support_checks") != std::string::npos) {
      take_checks(thread, entry);
    } else if (is_function(entry, "cudnnBackendFinalize()")) {
      take_finalize(thread, entry);
    } else if (is_function(entry, "cudnnBackendGetAttribute()")) {
      take_query(thread, entry);
    } else if (is_function(entry, "cudnnBackendExecute()")) {
      executed_without_json(thread, entry);
    }
  }

  // The reader of calls finds a graph in the entry where its finalize begins.
  void read_call(Thread& thread, const LogEntry& entry) {
    importers::LogCall call;
    call.function = entry.function.substr(0, entry.function.find('('));
    call.thread = entry.whole ? fmt::format("{}/{}", entry.process, entry.thread) : "";
    call.lines = entry.lines;
    try {
      if (auto imported = calls_.read(call)) thread.from_calls = std::move(imported);
    } catch (const Error& e) {
      note_problem(history_, entry.first_line, e.what());
    }
  }

  void take_attribute(Thread& thread, const LogEntry& entry) {
    if (descriptor_of(entry) != "ENGINEHEUR" || entry.lines.size() < 2 ||
        entry.lines[1].find("CUDNN_ATTR_ENGINEHEUR_MODE") == std::string::npos)
      return;
    for (const auto& line : entry.lines)
      if (const auto value = value_of(line, "[0]"))
        if (const auto mode = integer_of(*value)) thread.mode = log::heuristic_mode_name(*mode);
  }

  // Sets the thread's graph to the graph in a JSON line. Returns the line's engine config, if any.
  std::optional<EngineConfigLog> take_graph_json(Thread& thread, const LogEntry& entry) {
    constexpr std::string_view engine_key = ",\"engine\":";
    const std::string_view text = json_of(entry);
    const std::string_view graph_text = text.substr(0, text.rfind(engine_key));
    if (!take_graph(thread, graphs_.of_json(graph_text, entry))) return std::nullopt;
    thread.graph_seen = true;
    if (graph_text.size() == text.size()) return std::nullopt;
    auto config = log::parse_engine(
        parse_json_leniently(log::json_object_at_start(text.substr(graph_text.size() + engine_key.size()))));
    if (config && config->sm_version > 0) history_.graphs[*thread.graph].sm = static_cast<int>(config->sm_version / 10);
    return config;
  }

  // Returns whether it is a separate graph.
  static bool take_graph(Thread& thread, const GraphOfLog& read) {
    if (read.is_part) thread.is_part = *read.is_part;
    if (read.place) thread.graph = read.place;
    return read.place.has_value();
  }

  // The thread's graph, or an unknown one if the log shows none.
  LoggedGraph& current(Thread& thread, const LogEntry& entry) {
    if (!thread.graph) thread.graph = graphs_.unknown(entry);
    return history_.graphs[*thread.graph];
  }

  // ---- finalize: graphs, engine configs, plans

  void take_finalize(Thread& thread, const LogEntry& entry) {
    if (const auto status = status_of(entry)) {
      end_finalize(thread, *status, entry);
      return;
    }
    thread.finalizing = descriptor_of(entry);
    thread.begun = entry.time;
    if (is_part_of_graph(thread.finalizing)) ++history_.parts;
    thread.reasons.clear();
    thread.graph_seen = false;
    thread.tree.clear();
    if (thread.finalizing == "OPERATIONGRAPH") {
      thread.tree.assign(entry.lines.begin() + 1, entry.lines.end());
      thread.graph.reset();
      // Before 9.2, no status follows.
      if (entry.version < first_with_graph_json) end_finalize(thread, std::string(success), entry);
    } else if (thread.finalizing == "ENGINECFG" || thread.finalizing == "EXECUTION_PLAN") {
      thread.config = engine_of_tree(entry);
    }
  }

  void end_finalize(Thread& thread, const std::string& status, const LogEntry& entry) {
    const std::string what = std::exchange(thread.finalizing, "");
    const bool worked = status == success;
    if (what == "OPERATIONGRAPH") {
      // Used if the graph is not in the log as JSON.
      if (!thread.graph_seen)
        take_graph(thread, graphs_.of_tree(std::exchange(thread.from_calls, std::nullopt), thread.tree, entry));
      if (std::exchange(thread.is_part, false)) return;
      LoggedGraph& graph = current(thread, entry);
      ++graph.finalized;
      if (!worked) note_failure(graph, "operation graph", what, status, thread.reasons);
    } else if (what == "ENGINECFG") {
      if (thread.config) note_check(current(thread, entry), *thread.config, status, thread.reasons);
    } else if (what == "EXECUTION_PLAN") {
      if (thread.config) note_plan(current(thread, entry), *thread.config, status, thread.reasons);
      if (thread.config && worked) {
        LoggedGraph& graph = current(thread, entry);
        ++graph.plans;
        graph.plan_seconds += log::seconds_between(thread.begun, entry.time);
      }
    } else if (!worked && (what.rfind("OPERATION", 0) == 0 || what == "TENSOR")) {
      // A part failed to finalize, so no graph follows.
      thread.graph.reset();
      LoggedGraph& graph = current(thread, entry);
      graph.problem = fmt::format("cuDNN refused a part of the graph, CUDNN_BACKEND_{}_DESCRIPTOR", what);
      note_failure(graph, "operation graph", what, status, thread.reasons);
      thread.graph.reset();
    }
    thread.reasons.clear();
  }

  // ---- heuristics

  void take_query(Thread& thread, const LogEntry& entry) {
    if (const auto status = status_of(entry)) {
      if (thread.fetching) finish_query(thread, *status);
      return;
    }
    if (descriptor_of(entry) != "ENGINEHEUR" || entry.lines.size() < 4 ||
        entry.lines[1].find("CUDNN_ATTR_ENGINEHEUR_RESULTS") == std::string::npos)
      return;
    const auto requested = value_of(entry.lines[3], "requestedElementCount");
    thread.requested = requested ? integer_of(*requested).value_or(0) : 0;
    thread.fetching = thread.requested > 0;
    if (thread.fetching) current(thread, entry);
    if (entry.version < first_with_graph_json) finish_query(thread, std::string(success));
  }

  void take_checks(Thread& thread, const LogEntry& entry) {
    for (auto& config : log::parse_engine_configs(joined(entry.lines))) {
      if (!log::has_config(thread.rejected, config)) thread.rejected.push_back(std::move(config));
    }
    if (thread.rejected.empty() || thread.fetching) return;
    // A log with only warnings has no calls, but this was the last call.
    current(thread, entry);
    thread.fetching = true;
    finish_query(thread, "CUDNN_STATUS_NOT_SUPPORTED");
  }

  void finish_query(Thread& thread, const std::string& status) {
    if (!thread.fetching || !thread.graph) return;
    LoggedGraph& graph = history_.graphs[*thread.graph];
    probe::ModeFindings mode;
    mode.mode = thread.mode;
    mode.status = status;
    // Before 9.19 the log does not list the candidates, only the number requested and the rejected ones.
    const auto listed = static_cast<int64_t>(thread.candidates.size());
    const auto rejected = static_cast<int64_t>(thread.rejected.size());
    mode.candidates = std::max({listed, thread.requested, rejected});
    mode.viable = log::family_of(status) == log::StatusFamily::success ? mode.candidates - rejected : 0;
    for (size_t i = 0; i < thread.candidates.size(); ++i) {
      probe::EngineConfigFindings& config = engine_config(graph, thread.candidates[i]);
      note_mode(config, mode.mode, static_cast<int64_t>(i));
      if (!log::has_config(thread.rejected, thread.candidates[i])) config.check = {true, std::string(success)};
    }
    for (const auto& logged : thread.rejected) {
      probe::EngineConfigFindings& config = engine_config(graph, logged);
      note_mode(config, mode.mode, std::nullopt);
      config.check = {false, logged.reasons.empty() ? "CUDNN_STATUS_NOT_SUPPORTED" : logged.reasons.back().status};
      config.reasons = logged.reasons;
      if (graph.sm == 0) graph.sm = static_cast<int>(logged.sm_version / 10);
    }
    auto& modes = graph.findings.modes;
    if (std::none_of(modes.begin(), modes.end(), [&](const auto& m) { return m.mode == mode.mode; }))
      modes.push_back(mode);
    thread.fetching = false;
    thread.requested = 0;
    thread.candidates.clear();
    thread.rejected.clear();
  }

  // ---- execution

  void count_execution(const Thread& thread, const EngineConfigLog& logged) {
    if (thread.graph) note_execution(history_.graphs[*thread.graph], logged);
  }

  // A cuDNN without JSON lines logs only the plan's tree.
  void executed_without_json(Thread& thread, const LogEntry& entry) {
    constexpr CudnnVersion first_with_json{9, 19, 0};
    if (entry.version >= first_with_json || status_of(entry)) return;
    if (const auto config = engine_of_tree(entry)) count_execution(thread, *config);
  }

  // ---- warnings, errors and foreign text

  void take_complaint(Thread& thread, const LogEntry& entry) {
    if (entry.function.find("engine_config_support_checks") != std::string::npos) {
      take_checks(thread, entry);
      return;
    }
    const auto reasons = log::parse_reasons(joined(entry.lines));
    thread.reasons.insert(thread.reasons.end(), reasons.begin(), reasons.end());
    if (history_.has_info() || reasons.empty()) return;
    // Without level 3, no other entry mentions it.
    LoggedGraph& graph = current(thread, entry);
    if (!graph.findings.failure && graph.findings.modes.empty()) {
      thread.finalizing = "";
      note_failure(graph, entry.function, "", reasons.back().status, thread.reasons);
    }
  }

  // Reasons without an entry's head: pasted, or printed by the program itself.
  void take_loose() {
    LogEntry entry;
    entry.lines = text_.take_reasons();
    if (entry.lines.empty()) return;
    entry_ = &entry;
    Thread thread;
    take_checks(thread, entry);
    if (!thread.graph) {
      thread.reasons = log::parse_reasons(joined(entry.lines));
      if (!thread.reasons.empty())
        note_failure(current(thread, entry), "", "", thread.reasons.back().status, thread.reasons);
    }
    entry_ = nullptr;
  }

  log::LogSplitter splitter_;
  LogHistory history_;
  GraphsOfLog graphs_{history_};
  TextOfOthers text_{history_};
  importers::LogGraphReader calls_;
  std::map<std::pair<int64_t, int64_t>, Thread> threads_;
  std::pair<int64_t, int64_t> writer_;
  const LogEntry* entry_ = nullptr;
};

LogReader::LogReader() : state_(std::make_unique<State>()) {}
LogReader::~LogReader() = default;
LogReader::LogReader(LogReader&&) noexcept = default;
LogReader& LogReader::operator=(LogReader&&) noexcept = default;

void LogReader::feed(std::string_view bytes) {
  state_->feed(bytes);
}

const LogHistory& LogReader::so_far() const {
  return state_->so_far();
}

LogHistory LogReader::finish() {
  return state_->finish();
}

}  // namespace attnprobe::replay
