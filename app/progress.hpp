// The progress of long work: redrawn in place on a terminal, otherwise a line every ten seconds.
#pragma once

#include <chrono>
#include <mutex>
#include <string>

#include "answer/answer.hpp"

namespace attnprobe::app {

class Progress {
 public:
  /// 0: the total is unknown.
  explicit Progress(size_t total);

  /// Thread-safe.
  void add(const answer::Answer& result);
  /// Removes the bar. If plans ran, prints the compile time and the GPU time.
  void end() const;

 private:
  using Clock = std::chrono::steady_clock;

  std::string bar() const;

  size_t total_, done_ = 0, plans_ = 0, runs_ = 0;
  double compile_seconds_ = 0, gpu_seconds_ = 0;
  bool on_terminal_;
  std::mutex mutex_;
  Clock::time_point begun_ = Clock::now(), last_ = begun_;
};

}  // namespace attnprobe::app
