#include "worker/gpu_turns.hpp"

namespace attnprobe::worker {

GpuTurns::Held GpuTurns::open() {
  constexpr size_t most_opening = 2;
  std::unique_lock lock(mutex_);
  if (!taken_ || taken_by_ != std::this_thread::get_id())
    changed_.wait(lock, [&] { return !is_quiet() && opening_ < most_opening; });
  ++opening_;
  return {*this, Use::open, 1};
}

GpuTurns::Held GpuTurns::build(size_t count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !is_quiet() && count <= most_building_ - building_; });
  building_ += count;
  return {*this, Use::build, count};
}

GpuTurns::Held GpuTurns::turn(bool quiet) {
  std::unique_lock lock(mutex_);
  if (quiet) ++waiting_for_quiet_;
  changed_.wait(lock, [&] { return !taken_ && (!quiet || building_ + opening_ == 0); });
  if (quiet) --waiting_for_quiet_;
  taken_ = true;
  quiet_ = quiet;
  taken_by_ = std::this_thread::get_id();
  return {*this, Use::turn, 1};
}

void GpuTurns::give_back(Use use, size_t count) {
  {
    const std::lock_guard lock(mutex_);
    if (use == Use::open) opening_ -= count;
    if (use == Use::build) building_ -= count;
    if (use == Use::turn) taken_ = quiet_ = false;
  }
  changed_.notify_all();
}

}  // namespace attnprobe::worker
