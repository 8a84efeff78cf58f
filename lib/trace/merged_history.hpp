// Logs of several processes as one history.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "replay/log_history.hpp"

namespace attnprobe::trace {

/// Every distinct graph once, by hash, cuDNN and GPU, with what each process' log tells of it.
class MergedHistory {
 public:
  /// What a process' log told. Graphs beyond `most_graphs` are counted and dropped.
  void add(replay::LogHistory&& history, int64_t pid);

  replay::LogHistory history;
  std::vector<std::vector<int64_t>> pids;  ///< of history.graphs
  int64_t dropped = 0;

  /// A program that pads nothing has a graph for each length; ten thousand take some 300 MB.
  static constexpr size_t most_graphs = 10'000;

 private:
  std::map<std::tuple<std::string, CudnnVersion, std::string, int>, size_t> places_;
};

/// Adds to a graph what another log tells of the same one.
void merge(replay::LoggedGraph& into, const replay::LoggedGraph& from);

}  // namespace attnprobe::trace
