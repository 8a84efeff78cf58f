// Merges logs of several processes into one history.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "replay/log_history.hpp"

namespace attnprobe::replay {

/// Every distinct graph once, by hash, cuDNN and GPU, with the facts from each log.
class MergedHistory {
 public:
  /// `source` is the log's number, `name` its name in messages: "process 12", "cudnn-12.log". Graphs beyond
  /// `most_graphs` are counted and dropped.
  void add(LogHistory&& history, int64_t source, const std::string& name);

  LogHistory history;
  std::vector<std::vector<int64_t>> sources;  ///< of history.graphs
  int64_t dropped = 0;

  /// A program that does not pad has one graph per length; ten thousand graphs need about 300 MB.
  static constexpr size_t most_graphs = 10'000;

 private:
  std::map<std::tuple<std::string, CudnnVersion, std::string, int>, size_t> places_;
  std::set<std::string> frontend_;
};

/// Adds the facts of the same graph from another log.
void merge(LoggedGraph& into, const LoggedGraph& from);

}  // namespace attnprobe::replay
