// Logs of several processes as one history.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "replay/log_history.hpp"

namespace attnprobe::replay {

/// Every distinct graph once, by hash, cuDNN and GPU, with what each log tells of it.
class MergedHistory {
 public:
  /// `source` is a number for the log, `name` what messages call it: "process 12", "cudnn-12.log". Graphs beyond
  /// `most_graphs` are counted and dropped.
  void add(LogHistory&& history, int64_t source, const std::string& name);

  LogHistory history;
  std::vector<std::vector<int64_t>> sources;  ///< of history.graphs
  int64_t dropped = 0;

  /// A program that pads nothing has a graph for each length; ten thousand take some 300 MB.
  static constexpr size_t most_graphs = 10'000;

 private:
  std::map<std::tuple<std::string, CudnnVersion, std::string, int>, size_t> places_;
  std::set<std::string> frontend_;
};

/// Adds to a graph what another log tells of the same one.
void merge(LoggedGraph& into, const LoggedGraph& from);

}  // namespace attnprobe::replay
