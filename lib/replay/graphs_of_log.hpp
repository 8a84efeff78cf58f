// The distinct operation graphs of a log. Not installed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "importers/import.hpp"
#include "log/log_entries.hpp"
#include "replay/log_history.hpp"

namespace attnprobe::replay {

struct GraphOfLog {
  std::optional<size_t> place;  ///< in LogHistory::graphs; none if unreadable, or part of another graph
  std::optional<bool> is_part;  ///< whether it is the score graph inside a unified SDPA operation; none: not checked
};

/// Adds the graphs of entries to a history, and records unreadable graphs.
class GraphsOfLog {
 public:
  explicit GraphsOfLog(LogHistory& history) : history_(history) {}

  /// Sets the GPU of the following graphs, if the entry names one.
  void note_device(const log::LogEntry& entry);

  /// From the JSON of an operation graph. Logs repeat the same text hundreds of times, so each text is parsed once.
  GraphOfLog of_json(std::string_view text, const log::LogEntry& entry);

  /// From the calls that created it, otherwise from the indented tree of its finalize.
  GraphOfLog of_tree(std::optional<importers::ImportedGraph> from_calls, const std::vector<std::string>& tree,
                     const log::LogEntry& entry);

  /// Adds a graph of which only the existence is known.
  size_t unknown(const log::LogEntry& entry);

 private:
  GraphOfLog import(const Json& json, const log::LogEntry& entry);
  size_t add(LoggedGraph&& found, const log::LogEntry& entry);

  LogHistory& history_;
  std::map<std::pair<size_t, size_t>, size_t> read_;               // by the text of its JSON
  std::map<std::pair<std::string, CudnnVersion>, size_t> places_;  // by hash
  std::string device_;
  int sm_ = 0;
};

}  // namespace attnprobe::replay
