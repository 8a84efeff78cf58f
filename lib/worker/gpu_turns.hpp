// Schedules the use of a GPU: several workers build plans, one at a time runs them, and nothing disturbs timing.
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
  /// At most `most_building` plans are built at a time.
  explicit GpuTurns(size_t most_building = std::numeric_limits<size_t>::max()) : most_building_(most_building) {}

  enum class Use { none, open, build, turn };

  /// A turn, which the destructor returns. A default-constructed object has no turn.
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

  /// A turn to start a worker on the GPU. Two at a time, because the driver mostly serves one process after the other.
  /// Starting 17 workers at a time took 5.0 s, a single worker 0.43 s (H100, driver 580). Waits like build(), but not
  /// for the owner of the GPU, whose worker may have been lost.
  Held open();
  /// A turn to build one plan. Waits while the maximum number is building, and while a quiet turn is active or awaited.
  Held build() { return build(1); }
  /// The same for attnprobe's own kernels, but counts as half of all builds, because the first run waits for them.
  Held build_kernels() { return build(std::max<size_t>(1, most_building_ / 2)); }
  /// A turn to run plans: one worker at a time owns the GPU. `quiet`: for timing, so no plan is built meanwhile.
  /// Loading a plan at the same time doubles single samples of short kernels. Measured on an H200: noise 26 % instead
  /// of 3 %, median 0.7 % higher. Builders that use only the CPU do not disturb timing.
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
