#include "worker/gpu_turns.hpp"

namespace attnprobe::worker {

GpuTurns::Held GpuTurns::build(size_t builds) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !quiet_ && waiting_for_quiet_ == 0 && builds <= most_building_ - building_; });
  building_ += builds;
  return {*this, builds};
}

GpuTurns::Held GpuTurns::turn(bool quiet) {
  std::unique_lock lock(mutex_);
  if (quiet) ++waiting_for_quiet_;
  changed_.wait(lock, [&] { return !taken_ && (!quiet || building_ == 0); });
  if (quiet) --waiting_for_quiet_;
  taken_ = true;
  quiet_ = quiet;
  return {*this, 0};
}

void GpuTurns::give_back(size_t builds) {
  {
    const std::lock_guard lock(mutex_);
    if (builds == 0)
      taken_ = quiet_ = false;
    else
      building_ -= builds;
  }
  changed_.notify_all();
}

}  // namespace attnprobe::worker
