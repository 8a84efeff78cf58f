#include "worker/gpu_turns.hpp"

namespace attnprobe::worker {

GpuTurns::Held GpuTurns::build() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !quiet_ && waiting_for_quiet_ == 0 && building_ < most_building_; });
  ++building_;
  return {*this, false};
}

GpuTurns::Held GpuTurns::turn(bool quiet) {
  std::unique_lock lock(mutex_);
  if (quiet) ++waiting_for_quiet_;
  changed_.wait(lock, [&] { return !taken_ && (!quiet || building_ == 0); });
  if (quiet) --waiting_for_quiet_;
  taken_ = true;
  quiet_ = quiet;
  return {*this, true};
}

void GpuTurns::give_back(bool is_turn) {
  {
    const std::lock_guard lock(mutex_);
    if (is_turn)
      taken_ = quiet_ = false;
    else
      --building_;
  }
  changed_.notify_all();
}

}  // namespace attnprobe::worker
