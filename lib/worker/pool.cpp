#include "worker/pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace attnprobe::worker {
namespace {

// Ids are not enough: a user's target file may have any id.
std::string key_of(const std::string& cudnn_path, const gpu::Target& target) {
  std::error_code unknown;
  const auto written = std::filesystem::last_write_time(cudnn_path, unknown).time_since_epoch().count();
  return fmt::format("{} {} {} {}", cudnn_path, written, target.uuid, target.properties.dump());
}

}  // namespace

// Ends all at the same time, because the driver takes a while to release a GPU.
Pool::~Pool() {
  for (const auto& waiting : waiting_) waiting.worker.client->kill();
}

size_t Pool::waiting_for_gpus() const {
  return static_cast<size_t>(std::count_if(waiting_.begin(), waiting_.end(),
                                           [](const auto& waiting) { return waiting.kind == gpu::Kind::device; }));
}

OpenWorker Pool::take(const std::string& cudnn_path, const gpu::Target& target, Client::Seconds timeout,
                      const std::atomic<bool>* stop) {
  if (!is_kept(target)) return {};
  const std::string key = key_of(cudnn_path, target);
  const std::lock_guard lock(mutex_);
  for (size_t i = waiting_.size(); i-- > 0;) {
    if (waiting_[i].key != key) continue;
    OpenWorker worker = std::move(waiting_[i].worker);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    if (!worker.client->is_there()) continue;
    worker.client->obey(timeout, stop);
    return worker;
  }
  return {};
}

void Pool::give(const std::string& cudnn_path, const gpu::Target& target, OpenWorker worker) {
  if (!is_kept(target) || !worker.client) return;
  worker.client->obey({}, nullptr);  // the last question's stop may be destroyed soon
  OpenWorker oldest;                 // destroyed without the lock, because this waits for its process
  const std::lock_guard lock(mutex_);
  if (target.kind == gpu::Kind::device && waiting_for_gpus() >= std::max<size_t>(1, most_ / 2)) {
    oldest = std::move(worker);
    return;
  }
  waiting_.push_back({key_of(cudnn_path, target), target.kind, std::move(worker)});
  if (waiting_.size() <= most_) return;
  oldest = std::move(waiting_.front().worker);
  waiting_.pop_front();
}

}  // namespace attnprobe::worker
