// Who may use a GPU when: several workers build plans for it, one at a time runs them, and what is timed is not disturbed.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <limits>
#include <mutex>
#include <utility>

namespace attnprobe::worker {

class GpuTurns {
 public:
  /// So many plans are built at a time.
  explicit GpuTurns(size_t most_building = std::numeric_limits<size_t>::max()) : most_building_(most_building) {}

  /// Given back by its destructor. A default one holds nothing.
  class Held {
   public:
    Held() = default;
    Held(GpuTurns& turns, size_t builds) : turns_(&turns), builds_(builds) {}
    ~Held() {
      if (turns_ != nullptr) turns_->give_back(builds_);
    }
    Held(Held&& other) noexcept : turns_(std::exchange(other.turns_, nullptr)), builds_(other.builds_) {}
    Held& operator=(Held&&) = delete;
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    GpuTurns* turns_ = nullptr;
    size_t builds_ = 0;  // else it is the turn
  };

  /// To build one plan. Waits while as many are built as may be, and while somebody has a quiet turn, or waits for one.
  Held build() { return build(1); }
  /// The same for attnprobe's own kernels, in the place of half of all builds: the first run waits for them.
  Held build_kernels() { return build(std::max<size_t>(1, most_building_ / 2)); }
  /// To run plans: the GPU's memory and time are one worker's. `quiet`: times are taken, and nobody builds meanwhile. A
  /// plan that is loaded beside them makes single samples of short kernels twice as long (measured on an H200: noise of
  /// 26 % instead of 3 %, the median 0.7 % higher; builders that only use the CPU cost nothing).
  Held turn(bool quiet);

 private:
  Held build(size_t builds);
  void give_back(size_t builds);

  std::mutex mutex_;
  std::condition_variable changed_;
  const size_t most_building_;
  size_t building_ = 0, waiting_for_quiet_ = 0;
  bool taken_ = false, quiet_ = false;
};

}  // namespace attnprobe::worker
