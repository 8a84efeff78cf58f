// Converts graphs of other programs to questions.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "answer/answer.hpp"
#include "answer/question.hpp"
#include "recognise/recognise.hpp"
#include "replay/log_history.hpp"

namespace attnprobe::replay {

/// A graph of a log, and its recognised config.
struct ReplayedGraph {
  size_t number = 0;  ///< from 1, in order of appearance
  replay::LoggedGraph logged;
  recognise::Recognised recognised;
  std::vector<std::string> notes;  ///< missing, inferred and assumed facts
  bool is_frontend = false;        ///< from cudnn-frontend's JSON, which cuDNN's log does not show
};

struct Replay {
  std::string file;                   ///< its name in messages: "cudnn.log", "-", "3 files"
  std::vector<std::string> files;     ///< files and folders, as given
  replay::LogHistory history;         ///< its graphs are moved into `graphs`
  std::vector<ReplayedGraph> graphs;  ///< cuDNN's graphs, then graphs found only in cudnn-frontend's JSON
  std::string problem;                ///< problem of the file: its compressed data is truncated
};

/// Reads a cuDNN log (plain, gzip or xz; "-" is standard input), or a JSON document. A document is cudnn-frontend's
/// JSON or serialized graph, a stored plan, a graph from `--dump-graph json`, or a report of `trace`. The type is
/// detected from the content. Throws Error(usage) for an unreadable file and for a broken JSON document.
Replay read_replay(const std::string& file);

/// The same for several files, and for logs in folders (*.log, *.log.gz, *.log.xz), with each distinct graph once. An
/// unreadable file is a problem of the history. Throws Error(usage) for a missing file, a folder without logs, and if
/// all are unreadable.
Replay read_replays(const std::vector<std::string>& files);

/// Whether a path is a folder with logs (*.log, *.log.gz, *.log.xz).
bool is_folder_of_logs(const std::string& path);

/// A source of text: passes its bytes to the function piece by piece.
using GiveText = std::function<void(const std::function<void(std::string_view)>& take, std::string* problem)>;

/// The same for text from elsewhere; `name` is its name in messages.
Replay read_replay_of(const std::string& name, const GiveText& give);

/// The same for a history that was already read.
Replay replay_of(const std::string& name, LogHistory history);

/// Throws Error(usage) if there are no graphs, with the kind of the file and how to get a log with graphs.
void require_graphs(const Replay& replay);

/// Precondition: the graph was rebuilt (logged.imported).
answer::Question question_of(const Replay& replay, const ReplayedGraph& graph);

/// The catalogue's ids of the graphs' GPUs, without duplicates, as a comma-separated list; "" if none is known.
std::string gpus_of(const std::vector<const ReplayedGraph*>& graphs);
/// The same for all graphs of the replay.
std::string gpus_of(const Replay& replay);

/// A comparison of a result with the log's graph.
struct Agreement {
  bool is_compared = false;              ///< same cuDNN and architecture, and the log shows a walk
  std::string why_not;                   ///< reason, if not compared
  std::vector<std::string> differences;  ///< empty: the result equals the log
};
Agreement compare(const ReplayedGraph& graph, const answer::Answer& result);

/// Environment variables that make a program log its graphs, with their values.
std::string how_to_log();

/// One sentence for a file without a graph: what it contains instead, and what to do.
std::string why_no_graph(const Replay& replay);

}  // namespace attnprobe::replay
