// Limits the total number of worker processes of a session's requests. Not installed.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace attnprobe::service {

/// Thread-safe.
class WorkerSlots {
 public:
  explicit WorkerSlots(size_t count) : free_(count) {}

  /// Returns its slots in the destructor.
  class Held {
   public:
    Held(WorkerSlots& slots, size_t count) : slots_(slots), count_(count) {}
    Held(Held&& other) noexcept : slots_(other.slots_), count_(std::exchange(other.count_, 0)) {}
    ~Held() { slots_.give_back(count_); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    Held& operator=(Held&&) = delete;
    size_t count() const { return count_; }

   private:
    WorkerSlots& slots_;
    size_t count_;
  };

  /// Waits until a slot is free. Acquires up to `wanted` slots, but leaves half of the free slots to the next request.
  /// Acquires none once `stop` is set.
  Held take(size_t wanted, const std::atomic<bool>& stop) {
    constexpr std::chrono::milliseconds between_looks{20};
    std::unique_lock lock(mutex_);
    while (free_ == 0 && !stop) changed_.wait_for(lock, between_looks);
    const size_t count = stop ? 0 : std::min(wanted, (free_ + 1) / 2);
    free_ -= count;
    return {*this, count};
  }

 private:
  void give_back(size_t count) {
    const std::lock_guard lock(mutex_);
    free_ += count;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  size_t free_;
};

}  // namespace attnprobe::service
