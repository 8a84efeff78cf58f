#include "studies/hunt/hunt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "base/side_by_side.hpp"
#include "gpu/catalogue.hpp"
#include "rules/requirements.hpp"
#include "studies/reduce/reduce.hpp"
#include "worker/pool.hpp"

namespace attnprobe::hunt {
namespace {

using rules::Seen;

// Sets a flag when the time is up or the caller's flag is set.
class Deadline {
 public:
  Deadline(double seconds, const std::atomic<bool>* asker)
      : watcher_([this, seconds, asker](const std::stop_token& stop) {
          const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
          while (!stop.stop_requested() && !over_) {
            if (asker != nullptr && *asker) over_ = true;
            if (seconds > 0 && std::chrono::steady_clock::now() > end) over_ = true;
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
          }
        }) {}
  const std::atomic<bool>* flag() const { return &over_; }
  bool is_over() const { return over_; }

 private:
  std::atomic<bool> over_{false};
  std::jthread watcher_;
};

class Hunter {
 public:
  Hunter(const gpu::Target& target, const std::vector<cudnn::LibraryInfo>& libraries, const HuntOptions& options)
      : target_(target), libraries_(libraries), options_(options), deadline_(options.seconds, options.session.stop) {
    hunt_.gpu = gpu::id_or_name(target);
    hunt_.sm = target.sm;
  }

  Hunt run() {
    in_parallel(libraries_.size(), [&](size_t i) { take_census(libraries_[i]); });
    for (const auto& library : libraries_)
      hunt_.censuses.push_back(census_of(library.version.text(), trials_.at(library.version.text())));
    if (options_.fences) fence_all();
    hunt_.is_whole = !deadline_.is_over();
    return std::move(hunt_);
  }

 private:
  void say(const std::string& words) const {
    if (options_.on_step) options_.on_step(words);
  }

  std::vector<Trial> ask(const std::vector<Probe>& probes, const cudnn::LibraryInfo& library,
                         const OnTrial& on_trial = {}) {
    asking::Session session = options_.session;
    session.pool = &pool_;
    session.stop = deadline_.flag();
    asking::PlanOptions how = options_.how;
    how.jobs = static_cast<int>(std::max<size_t>(1, jobs_of(how) / at_a_time_));
    return run_trials(probes, target_, library.path, how, session, on_trial);
  }

  // Starting workers and compiling leave the GPU idle, so several cuDNNs or several regions share the workers.
  void in_parallel(size_t count, const std::function<void(size_t)>& work) {
    constexpr size_t most = 3;
    at_a_time_ = std::clamp<size_t>(count, 1, most);
    side_by_side(at_a_time_, count, work);
  }

  void take_census(const cudnn::LibraryInfo& library) {
    const std::string version = library.version.text();
    std::vector<Trial> trials;
    std::set<uint64_t> known;
    for (const auto& trial : options_.before)
      if (trial.cudnn == version && trial.gpu == hunt_.gpu) {
        trials.push_back(trial);
        known.insert(trial.seed);
      }
    auto probes = draw_probes(options_.first_seed, options_.count);
    std::erase_if(probes, [&](const Probe& probe) {
      const auto answer = rules::frontend_answer(probe.spec, library.version, hunt_.sm);
      return known.contains(probe.seed) || (answer && answer->refuses);
    });
    for (auto& probe : probes) give_lengths(probe.spec);
    say(fmt::format("cuDNN {}: {} random configs", version, probes.size()));
    const auto on_trial = [&](const Trial& trial) {
      const std::lock_guard lock(mutex_);
      if (options_.on_trial) options_.on_trial(trial);
    };
    for (auto& trial : ask(probes, library, on_trial)) trials.push_back(std::move(trial));
    const std::lock_guard lock(mutex_);
    trials_[version] = std::move(trials);
  }

  struct Suspect {
    const cudnn::LibraryInfo* library;
    const Trial* trial;
  };

  // A region spans many versions, so the next suspect waits until the earlier regions are known.
  bool is_explained(const Trial& trial) const {
    return std::any_of(hunt_.classes.begin(), hunt_.classes.end(),
                       [&](const Class& known) { return is_inside(known.region, trial, hunt_.sm); });
  }

  void fence_all() {
    std::vector<Suspect> suspects;
    for (const auto& library : libraries_)
      for (const auto& trial : trials_.at(library.version.text()))
        if (fails(trial) && is_unwarned(trial)) suspects.push_back({&library, &trial});
    std::set<std::string> begun;  // the same config fails with many versions
    in_parallel(suspects.size(), [&](size_t i) {
      const auto& [library, trial] = suspects[i];
      {
        const std::lock_guard lock(mutex_);
        if (deadline_.is_over() || is_explained(*trial) || !begun.insert(trial->config.dump()).second) return;
        say(fmt::format("cuDNN {}: fencing {}", trial->cudnn, trial->description));
      }
      fence_one(*library, *trial);
    });
  }

  void fence_one(const cudnn::LibraryInfo& library, const Trial& trial) {
    Region region = fence(
        trial, trials_.at(trial.cudnn), hunt_.sm, [&](const auto& probes) { return ask(probes, library); },
        options_.fence);
    if (region.literals.empty() || deadline_.is_over()) {
      const std::lock_guard lock(mutex_);
      hunt_.unexplained.push_back(std::move(region.smallest));
      return;
    }
    Class found = class_of(std::move(region));
    const std::lock_guard lock(mutex_);
    hunt_.classes.push_back(std::move(found));
  }

  Class class_of(Region region) {
    Class found;
    found.region = std::move(region);
    const Trial& smallest = found.region.smallest;
    const auto spec = reduce::spec_of(smallest.config).value();
    for (const auto& library : libraries_) {
      if (deadline_.is_over()) break;
      const auto trials = ask({{0, spec, smallest.data}}, library);
      if (!trials.empty()) found.versions[library.version.text()] = trials.front().seen;
    }
    for (const auto& [version, trials] : trials_)
      for (const auto& trial : trials)
        if (fails(trial) && is_inside(found.region, trial, hunt_.sm)) found.sightings.push_back(trial);
    return found;
  }

  const gpu::Target& target_;
  const std::vector<cudnn::LibraryInfo>& libraries_;
  const HuntOptions& options_;
  Deadline deadline_;
  worker::Pool pool_{96};
  size_t at_a_time_ = 1;
  std::mutex mutex_;
  std::map<std::string, std::vector<Trial>> trials_;
  Hunt hunt_;
};

}  // namespace

Census census_of(const std::string& cudnn, const std::vector<Trial>& trials) {
  Census census;
  census.cudnn = cudnn;
  census.asked = trials.size();
  for (const auto& trial : trials) {
    if (trial.seen == Seen::refused) ++census.refused;
    if (is_compared(trial)) ++census.ran;
    const bool failed = fails(trial);
    if (failed) {
      ++census.failed;
      if (is_unwarned(trial)) ++census.unwarned;
      ++census.failures[rules::is_seen(trial.seen) ? trial.seen : Seen::does_not_compile];
    }
    if (!failed && !is_compared(trial)) continue;
    for (const auto& id : trial.bugs) {
      ++census.entries[id].warned;
      if (failed) ++census.entries[id].failed;
    }
  }
  return census;
}

Hunt hunt(const gpu::Target& target, const std::vector<cudnn::LibraryInfo>& libraries, const HuntOptions& options) {
  return Hunter(target, libraries, options).run();
}

}  // namespace attnprobe::hunt
