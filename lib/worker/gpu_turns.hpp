// Who may use a GPU when: several workers build plans for it, one at a time runs them, and what is timed is not disturbed.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>

namespace attnprobe::worker {

class GpuTurns {
 public:
  /// So many plans are built at a time.
  explicit GpuTurns(size_t most_building = std::numeric_limits<size_t>::max()) : most_building_(most_building) {}

  enum class Use { none, open, build, turn };

  /// Given back by its destructor. A default one holds nothing.
  class Held {
   public:
    Held() = default;
    Held(GpuTurns& turns, Use use, size_t count) : turns_(&turns), use_(use), count_(count) {}
    ~Held() {
      if (turns_ != nullptr) turns_->give_back(use_, count_);
    }
    Held(Held&& other) noexcept
        : turns_(std::exchange(other.turns_, nullptr)), use_(other.use_), count_(other.count_) {}
    Held& operator=(Held&&) = delete;
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    GpuTurns* turns_ = nullptr;
    Use use_ = Use::none;
    size_t count_ = 0;
  };

  /// To start a worker on it. Two at a time: the driver does most of it for one process after the other, and 17 at a time
  /// were all ready after 5.0 s where one is after 0.43 s (H100, driver 580). Waits as build() does, but for whoever has
  /// the turn, whose worker may have been lost.
  Held open();
  /// To build one plan. Waits while as many are built as may be, and while somebody has a quiet turn, or waits for one.
  Held build() { return build(1); }
  /// The same for attnprobe's own kernels, in the place of half of all builds: the first run waits for them.
  Held build_kernels() { return build(std::max<size_t>(1, most_building_ / 2)); }
  /// To run plans: the GPU's memory and time are one worker's. `quiet`: times are taken, and nobody builds meanwhile. A
  /// plan that is loaded beside them makes single samples of short kernels twice as long (measured on an H200: noise of
  /// 26 % instead of 3 %, the median 0.7 % higher; builders that only use the CPU cost nothing).
  Held turn(bool quiet);

 private:
  bool is_quiet() const { return quiet_ || waiting_for_quiet_ > 0; }
  Held build(size_t count);
  void give_back(Use use, size_t count);

  std::mutex mutex_;
  std::condition_variable changed_;
  const size_t most_building_;
  size_t opening_ = 0, building_ = 0, waiting_for_quiet_ = 0;
  bool taken_ = false, quiet_ = false;
  std::thread::id taken_by_;
};

}  // namespace attnprobe::worker
