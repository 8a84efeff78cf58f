// Graphs that other programs made, as questions.
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

/// A graph of a log, and what attnprobe knows it as.
struct ReplayedGraph {
  size_t number = 0;  ///< from 1, in order of appearance
  replay::LoggedGraph logged;
  recognise::Recognised recognised;
  std::vector<std::string> notes;  ///< what is missing, inferred, assumed
  bool is_frontend = false;        ///< from cudnn-frontend's JSON, which cuDNN's log does not show
};

struct Replay {
  std::string file;                   ///< how messages call it: "cudnn.log", "-", "3 files"
  std::vector<std::string> files;     ///< files and folders, as they were named
  replay::LogHistory history;         ///< its graphs are moved into `graphs`
  std::vector<ReplayedGraph> graphs;  ///< cuDNN's, then those that only cudnn-frontend's JSON shows
  std::string problem;                ///< of the file: its compression is cut off
};

/// Reads a cuDNN log (plain, gzip or xz; "-" is standard input), cudnn-frontend's JSON or serialized graph, a stored
/// plan's JSON, or a graph of `--dump-graph json`; which of these it is, is seen. Throws Error(usage) for a file that
/// cannot be read and for a JSON document that is broken.
Replay read_replay(const std::string& file);

/// The same of several files, and of the logs in folders (*.log, *.log.gz, *.log.xz): each distinct graph once. One of
/// several that cannot be read is a problem of the history. Throws Error(usage) for a name that is not there, a folder
/// without logs, and where none can be read.
Replay read_replays(const std::vector<std::string>& files);

/// What a text is read by: gives its bytes to the function, piece by piece.
using GiveText = std::function<void(const std::function<void(std::string_view)>& take, std::string* problem)>;

/// The same of a text from elsewhere; `name` is how messages call it.
Replay read_replay_of(const std::string& name, const GiveText& give);

/// A history that was read elsewhere; `name` likewise.
Replay replay_of(const std::string& name, LogHistory history);

/// Throws Error(usage) that says what the file is and how to get a log with graphs, if it has none.
void require_graphs(const Replay& replay);

/// Precondition: the graph was rebuilt (logged.imported).
answer::Question question_of(const Replay& replay, const ReplayedGraph& graph);

/// The catalogue's ids of the GPUs on which the graphs were seen, each once, as a comma list; "" if none is known.
std::string gpus_of(const std::vector<const ReplayedGraph*>& graphs);

/// How a result compares with what the log shows of the graph.
struct Agreement {
  bool is_compared = false;              ///< same cuDNN, same architecture, and the log shows a walk
  std::string why_not;                   ///< if not compared
  std::vector<std::string> differences;  ///< empty: today says what the log says
};
Agreement compare(const ReplayedGraph& graph, const answer::Answer& result);

/// What to do to get a log that shows graphs: environment variables and their values.
std::string how_to_log();

/// One sentence for a file in which there is no graph: what is in it instead, and what to do.
std::string why_no_graph(const Replay& replay);

}  // namespace attnprobe::replay
