#include "ask/work_queue.hpp"

#include <algorithm>

namespace attnprobe::asking {

WorkQueue::WorkQueue(const std::vector<CellPlace>& places, size_t jobs, size_t least,
                     std::map<size_t, size_t> most_workers)
    : places_(places), jobs_(jobs), least_(least), left_(places.size()), most_(std::move(most_workers)) {
  group_of_.reserve(places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    const bool same = i > 0 && places[i].cudnn == places[i - 1].cudnn && places[i].target == places[i - 1].target;
    if (!same) groups_.push_back({i, i, places[i].target, false});
    groups_.back().end = i + 1;
    group_of_.push_back(groups_.size() - 1);
  }
}

bool WorkQueue::is_free(const Group& group) const {
  const auto most = most_.find(group.target);
  if (most == most_.end()) return true;
  const auto busy = busy_.find(group.target);
  return busy == busy_.end() || busy->second < most->second;
}

// Its worker's group, otherwise a group without a worker, otherwise the group with the most cells left.
WorkQueue::Group* WorkQueue::group_for(const std::optional<Portion>& done) {
  const auto is_open = [&](const Group& group) { return group.begin < group.end && is_free(group); };
  if (done)
    if (Group& own = groups_[group_of_[done->begin]]; is_open(own)) return &own;
  Group* best = nullptr;
  for (Group& group : groups_) {
    if (!is_open(group)) continue;
    if (!group.begun) return &group;
    const size_t size = group.end - group.begin;
    if (size >= least_ && (best == nullptr || size > best->end - best->begin)) best = &group;
  }
  return best;
}

size_t WorkQueue::size_of_portion(const Group& group) const {
  constexpr size_t largest = 64, many = 4;
  const size_t size = group.end - group.begin;
  const auto unbegun = std::count_if(groups_.begin(), groups_.end(), [](const Group& each) { return !each.begun; });
  if (jobs_ == 1 || static_cast<size_t>(unbegun) >= many * jobs_) return size;
  return std::min(size, std::clamp(left_ / (2 * jobs_), size_t{1}, largest));
}

bool WorkQueue::is_blocked() const {
  return std::any_of(groups_.begin(), groups_.end(),
                     [&](const Group& group) { return group.begin < group.end && !is_free(group); });
}

std::optional<Portion> WorkQueue::take(const std::optional<Portion>& done) {
  std::unique_lock lock(mutex_);
  if (done && most_.count(places_[done->begin].target) != 0) {
    --busy_[places_[done->begin].target];
    changed_.notify_all();
  }
  while (left_ > 0) {
    if (Group* group = group_for(done)) {
      const Portion portion{group->begin, group->begin + size_of_portion(*group)};
      group->begin = portion.end;
      group->begun = true;
      left_ -= portion.end - portion.begin;
      if (most_.count(group->target) != 0) ++busy_[group->target];
      if (left_ == 0) changed_.notify_all();
      return portion;
    }
    if (!is_blocked()) break;  // the jobs that already have workers ask the rest
    changed_.wait(lock);
  }
  return std::nullopt;
}

void WorkQueue::abandon() {
  const std::lock_guard lock(mutex_);
  left_ = 0;
  changed_.notify_all();
}

size_t WorkQueue::useful_jobs() const {
  size_t useful = 0;
  std::map<size_t, size_t> room = most_;
  for (const Group& group : groups_) {
    size_t workers = std::max<size_t>(1, (group.end - group.begin) / least_);
    if (const auto left = room.find(group.target); left != room.end()) {
      workers = std::min(workers, left->second);
      left->second -= workers;
    }
    useful += workers;
  }
  return std::min(jobs_, useful);
}

}  // namespace attnprobe::asking
