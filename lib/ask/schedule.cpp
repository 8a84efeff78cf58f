#include "ask/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "answer/judge.hpp"
#include "ask/target_run.hpp"
#include "ask/work_queue.hpp"
#include "base/error.hpp"
#include "base/limits.hpp"
#include "base/side_by_side.hpp"
#include "worker/pool.hpp"

namespace attnprobe::asking {
namespace {

// A job's worker, reused for portions with the same cuDNN and target.
struct JobWorker {
  JobWorker(const QuestionGroup& group, const CellPlace& first, const PlanOptions& options, const Session& session,
            const TargetShare& share)
      : place(first), run(group.targets[first.target], group.cudnns[first.cudnn], options, session, share) {}
  bool is_for(const CellPlace& other) const { return place.cudnn == other.cudnn && place.target == other.target; }

  CellPlace place;
  TargetRun run;
};

// Fewer cells do not justify starting another worker. Cells with a sweep or plans take longer.
size_t least_for_a_worker(const QuestionGroup& group, const PlanOptions& options) {
  const probe::WalkOptions& walk = options.walk;
  const bool on_gpus = std::any_of(group.targets.begin(), group.targets.end(),
                                   [](const gpu::Target& target) { return target.kind == gpu::Kind::device; });
  const bool only_checks = walk.plans == probe::Plans::none || (walk.plans == probe::Plans::automatic && !on_gpus);
  const bool is_quick = !walk.sweep_where_none && walk.engines == probe::Engines::heuristic && only_checks;
  return is_quick ? 8 : 2;
}

// The most workers per GPU of this machine: each has its own CUDA context (half a gigabyte on an H200). Most of the
// memory is for the tensors of the worker that owns the GPU.
std::map<size_t, size_t> most_workers(const QuestionGroup& group) {
  constexpr int64_t context_bytes = int64_t{1} << 29, share_of_contexts = 4;
  std::map<size_t, size_t> most;
  for (size_t t = 0; t < group.targets.size(); ++t) {
    const gpu::Target& target = group.targets[t];
    if (target.kind != gpu::Kind::device) continue;
    most[t] = static_cast<size_t>(std::max<int64_t>(1, target.memory_bytes / share_of_contexts / context_bytes));
  }
  return most;
}

bool runs_plans(const gpu::Target& target, const PlanOptions& options) {
  const probe::Plans plans = options.walk.plans;
  return target.kind == gpu::Kind::device && (probe::executes(plans) || plans == probe::Plans::automatic);
}

// Some workers always wait for a GPU, and their cores would otherwise be idle. So there are twice as many workers as cores,
// unless options.jobs says otherwise; at most one per core builds. Of 320 random configs on an H100 with 16 cores,
// workers waited 224 of 1,024 seconds. The additional workers begin after the first answer, because the driver opens a
// GPU for one process after the other.
size_t workers_of(const QuestionGroup& group, const PlanOptions& options) {
  const bool all_run = std::all_of(group.targets.begin(), group.targets.end(),
                                   [&](const gpu::Target& target) { return runs_plans(target, options); });
  const size_t jobs = jobs_of(options);
  return all_run && options.jobs <= 0 && jobs > 1 ? std::min<size_t>(2 * jobs, most_jobs()) : jobs;
}

// How a target's workers share it: one at a time owns the GPU, and idle workers help to build.
struct Shares {
  Shares(const QuestionGroup& group, size_t cells, size_t jobs, const std::map<size_t, size_t>& most)
      : builders(group.targets.size(), 1) {
    for (size_t t = 0; t < builders.size(); ++t) {
      gpus.emplace_back(jobs);
      const auto room = most.find(t);
      const size_t processes = room == most.end() ? jobs : std::min(jobs, room->second);
      builders[t] = processes / std::clamp<size_t>(cells, 1, processes);
    }
  }
  std::deque<worker::GpuTurns> gpus;
  std::vector<size_t> builders;
};

// Prepares each GPU on which plans will run, in parallel with the first walks and builds.
std::vector<std::jthread> prepare_gpus(const QuestionGroup& group, const std::vector<CellPlace>& places,
                                       const PlanOptions& options, const Session& session, Shares& shares) {
  std::vector<std::jthread> threads;
  for (size_t t = 0; t < group.targets.size(); ++t) {
    const auto first = std::find_if(places.begin(), places.end(), [&](const CellPlace& p) { return p.target == t; });
    if (first == places.end() || !runs_plans(group.targets[t], options)) continue;
    threads.emplace_back([&group, &options, &session, &turns = shares.gpus[t], place = *first] {
      JobWorker(group, place, options, session, TargetShare{&turns, 1}).run.prepare_gpu();
    });
  }
  return threads;
}

// Reports answers in order on a separate thread, so that an answer is processed while cuDNN works on the next one.
class Reporter {
 public:
  Reporter(const OnCell& on_cell, const std::vector<rules::ChosenGate>& frameworks)
      : on_cell_(on_cell), frameworks_(frameworks), thread_([this](const std::stop_token& stop) { run(stop); }) {}

  // Rethrows an exception of an earlier report.
  void add(size_t index, Answer&& answer) {
    constexpr size_t most_waiting = 8;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failure_ || waiting_.size() < most_waiting; });
    if (failure_) std::rethrow_exception(failure_);
    waiting_.emplace_back(index, std::move(answer));
    changed_.notify_all();
  }

  // Waits for all reports.
  void finish() {
    thread_.request_stop();
    thread_.join();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [&] { return !waiting_.empty(); })) {
      auto [index, answer] = std::move(waiting_.front());
      waiting_.pop_front();
      changed_.notify_all();
      lock.unlock();
      try {
        complete(answer, frameworks_);
        on_cell_(index, std::move(answer));
        lock.lock();
      } catch (...) {
        lock.lock();
        failure_ = std::current_exception();
        changed_.notify_all();
        return;
      }
    }
  }

  const OnCell& on_cell_;
  const std::vector<rules::ChosenGate>& frameworks_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::pair<size_t, Answer>> waiting_;
  std::exception_ptr failure_;
  std::jthread thread_;
};

Error no_thread(const std::system_error& why) {
  return {ErrorKind::environment,
          fmt::format("this machine does not let attnprobe start more threads: {}", why.what())};
}

}  // namespace

std::vector<std::optional<cudnn::LibraryInfo>> ask_cells(const QuestionGroup& group,
                                                         const std::vector<CellPlace>& places,
                                                         const PlanOptions& options, const Session& session,
                                                         const OnCell& on_cell) {
  const auto most = most_workers(group);
  WorkQueue queue(places, workers_of(group, options), least_for_a_worker(group, options), most);
  Shares shares(group, places.size(), jobs_of(options), most);
  const auto stopped = [&] { return session.is_stopped(); };
  std::atomic<bool> is_one_answered = false;
  const auto answered = [&] {
    is_one_answered = true;
    is_one_answered.notify_all();
  };
  std::mutex mutex;
  std::exception_ptr failure;
  std::vector<std::optional<cudnn::LibraryInfo>> libraries(group.cudnns.size());
  const auto fail = [&](std::exception_ptr why) {
    queue.abandon();
    const std::lock_guard lock(mutex);
    failure = std::move(why);
  };
  const auto work = [&] {
    try {
      std::unique_ptr<JobWorker> worker;
      Reporter reporter(on_cell, options.frameworks);
      for (std::optional<Portion> portion; (portion = queue.take(portion));) {
        const CellPlace& first = places[portion->begin];
        if (!worker || !worker->is_for(first))
          worker = std::make_unique<JobWorker>(group, first, options, session,
                                               TargetShare{&shares.gpus[first.target], shares.builders[first.target]});
        for (size_t i = portion->begin; i < portion->end && !stopped(); ++i) {
          const auto* next = i + 1 < portion->end ? &group.questions[places[i + 1].config] : nullptr;
          Answer answer = worker->run.run(group.questions[places[i].config], next);
          // If the same Ctrl-C ended the worker, that says nothing about cuDNN; some plans were also skipped.
          if (!stopped() || (!answer.crash && !answer.findings.plans_built)) reporter.add(i, std::move(answer));
          answered();
        }
        if (stopped()) queue.abandon();
        const std::lock_guard lock(mutex);
        if (auto& library = libraries[first.cudnn]; !library) library = worker->run.library();
      }
      reporter.finish();
    } catch (const std::system_error& e) {
      fail(std::make_exception_ptr(no_thread(e)));
    } catch (...) {
      fail(std::current_exception());
    }
    answered();
  };
  {
    std::vector<std::jthread> threads, preparing;
    try {
      if (jobs_of(options) > 1) preparing = prepare_gpus(group, places, options, session, shares);
      for (size_t i = 0; i < queue.useful_jobs(); ++i) {
        if (i == jobs_of(options)) is_one_answered.wait(false);
        threads.emplace_back(work);
      }
    } catch (const std::system_error& e) {
      if (threads.empty()) throw no_thread(e);  // if no thread can be started, fewer threads do all the work
    }
  }
  if (failure) std::rethrow_exception(failure);
  return libraries;
}

}  // namespace attnprobe::asking
