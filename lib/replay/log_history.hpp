// Reads a program's cuDNN log: its graphs, and cuDNN's answer for each in the form of a walk's findings. Needs
// no cuDNN.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/version.hpp"
#include "importers/import.hpp"
#include "probe/findings.hpp"

namespace attnprobe::replay {

/// A plan that the program executed.
struct LoggedExecution {
  int64_t engine = -1;
  log::Knobs knobs;
  int64_t times = 0;
};
ATTNPROBE_JSON(LoggedExecution, engine, knobs, times)

/// One operation graph of a log. Repeated builds share the entry.
struct LoggedGraph {
  std::optional<importers::ImportedGraph> imported;  ///< none if the log does not have it
  std::string hash;                                  ///< of the imported graph
  bool from_tree = false;                            ///< rebuilt from the indented tree, because there is no JSON
  std::string problem;                               ///< why there is no graph
  std::string kind;              ///< cuDNN's kind of graph: "SDPA_FWD", "UNIFIED_SDPA_FWD"; "" if none
  CudnnVersion cudnn_version;    ///< 91900
  std::string device;            ///< "NVIDIA H200"; "" if unknown
  int sm = 0;                    ///< 90
  std::string file;              ///< if several logs were read: the first log with it
  int64_t first_line = 0;        ///< in the file, from 1
  int64_t finalized = 0;         ///< how often it was built
  probe::WalkFindings findings;  ///< requested modes, tried engine configs, built plans
  int64_t plans = 0;             ///< built with success
  double plan_seconds = 0;       ///< time from start to end of finalize
  std::vector<LoggedExecution> executed;

  /// Whether the program got a working engine config: a viable candidate, a plan or an execution.
  bool works() const;
  /// Whether the log shows a refusal.
  bool refused() const;
};

/// A graph in cudnn-frontend's JSON.
struct FrontendText {
  std::string json;
  int64_t line = 0;       ///< in the file, from 1; 0: the whole file is its JSON
  std::string file = {};  ///< if several logs were read: the first log with it
};

/// A call of cuDNN's old interface for multi-head attention, from before graphs (cudnnSetAttnDescriptor and related).
struct OldAttentionCall {
  std::string function;  ///< "cudnnSetAttnDescriptor()"
  int64_t line = 0;
  /// Sizes of Q and K after their projections, if the call has them.
  std::optional<int64_t> projected_q, projected_k;
};

struct LogHistory {
  std::vector<LoggedGraph> graphs;     ///< in order of appearance
  std::vector<FrontendText> frontend;  ///< distinct graphs of cudnn-frontend
  std::set<CudnnVersion> versions;     ///< of cuDNN, from its entries
  std::map<char, int64_t> severities;  ///< number of entries by I, W and E
  int64_t lines = 0;
  int64_t broken_entries = 0;                     ///< entries without an end
  bool ends_in_entry = false;                     ///< the file ends in the middle of an entry
  int64_t parts = 0;                              ///< number of tensors and operations created, for any graph
  std::optional<OldAttentionCall> old_attention;  ///< the first problem
  std::vector<std::string> problems;              ///< "line 12: …": unreadable parts
  std::vector<std::string> exceptions;            ///< lines in which a program reports that it found no engine

  /// Whether there are any entries, and whether any is of level 3, the only level that shows graphs.
  bool has_entries() const { return !severities.empty(); }
  bool has_info() const { return severities.count('I') != 0; }
};

/// Accepts a log in pieces of any size. Memory grows with the number of different graphs, not with the file.
class LogReader {
 public:
  LogReader();
  ~LogReader();
  LogReader(LogReader&&) noexcept;
  LogReader& operator=(LogReader&&) noexcept;
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  void feed(std::string_view bytes);
  /// The history so far, for a log that is still being written. Valid until feed() or finish() is called.
  const LogHistory& so_far() const;
  LogHistory finish();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace attnprobe::replay
