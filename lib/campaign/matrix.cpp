#include "campaign/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "base/error.hpp"
#include "campaign/target_run.hpp"
#include "campaign/walk_cache.hpp"
#include "gpu/catalogue.hpp"

namespace attnprobe::campaign {
namespace {

// Cells that one worker is asked, one after the other.
struct Portion {
  size_t begin = 0, end = 0;  // of the places
};

bool same_worker(const CellPlace& a, const CellPlace& b) {
  return a.cudnn == b.cudnn && a.target == b.target;
}

// All that one cuDNN and one target have where there are many such. Where there are
// few, several workers share them, in portions that get smaller towards the end, so
// that the jobs end together. A worker's start costs as much as some ten cells.
std::vector<Portion> portions_of(const std::vector<CellPlace>& places, size_t jobs) {
  constexpr size_t largest = 64, many = 4;
  std::vector<Portion> whole;
  for (size_t i = 0; i < places.size(); ++i) {
    if (i > 0 && same_worker(places[i], places[i - 1]))
      whole.back().end = i + 1;
    else
      whole.push_back({i, i + 1});
  }
  if (jobs == 1 || whole.size() >= many * jobs) return whole;
  std::vector<Portion> pieces;
  for (const Portion& portion : whole)
    for (size_t begin = portion.begin, size = 0; begin < portion.end; begin += size) {
      size = std::clamp((places.size() - begin) / (2 * jobs), size_t{1}, largest);
      size = std::min(size, portion.end - begin);
      pieces.push_back({begin, begin + size});
    }
  return pieces;
}

// A job's worker, kept from portion to portion as long as they have the same cuDNN and target.
struct JobWorker {
  JobWorker(const Matrix& matrix, const CellPlace& first, const CampaignOptions& given)
      : place(first),
        options(given),
        run((options.cudnn = matrix.cudnns[first.cudnn].path, matrix.targets[first.target]), options) {}
  CellPlace place;
  CampaignOptions options;
  TargetRun run;
};

// Reports answers one after the other on a thread of its own:
// what becomes of one is done while cuDNN is asked for the next.
class Reporter {
 public:
  explicit Reporter(const OnCell& on_cell)
      : on_cell_(on_cell), thread_([this](const std::stop_token& stop) { run(stop); }) {}

  // Throws what an earlier report threw.
  void add(const CellPlace& place, Result cell) {
    constexpr size_t most_waiting = 8;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failure_ || waiting_.size() < most_waiting; });
    if (failure_) std::rethrow_exception(failure_);
    waiting_.emplace_back(place, std::move(cell));
    changed_.notify_all();
  }

  // Waits for all of them.
  void finish() {
    thread_.request_stop();
    thread_.join();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [&] { return !waiting_.empty(); })) {
      auto [place, cell] = std::move(waiting_.front());
      waiting_.pop_front();
      changed_.notify_all();
      lock.unlock();
      try {
        add_version_rules(cell);
        on_cell_(place, cell);
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
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::pair<CellPlace, Result>> waiting_;
  std::exception_ptr failure_;
  std::jthread thread_;
};

}  // namespace

std::vector<CellPlace> places_of(const Matrix& matrix) {
  std::vector<CellPlace> places;
  places.reserve(matrix.cudnns.size() * matrix.targets.size() * matrix.questions.size());
  for (size_t v = 0; v < matrix.cudnns.size(); ++v)
    for (size_t t = 0; t < matrix.targets.size(); ++t)
      for (size_t c = 0; c < matrix.questions.size(); ++c) places.push_back({c, t, v});
  return places;
}

std::vector<CellPlace> shard_of(const std::vector<CellPlace>& places, size_t index, size_t count) {
  auto bound = [&](size_t i) { return places.begin() + static_cast<std::ptrdiff_t>(places.size() * i / count); };
  return {bound(index - 1), bound(index)};
}

cudnn::LibraryInfo identify(const std::string& cudnn, const CampaignOptions& options) {
  if (options.cache != nullptr)
    if (auto known = options.cache->library(cudnn)) return *known;
  const gpu::Target& any = *gpu::find("h200");
  try {
    worker::Client client(any, worker::Client::Seconds(options.timeout_seconds));
    auto library = client.open(cudnn, any);
    if (options.cache != nullptr) options.cache->store_library(cudnn, library);
    return library;
  } catch (const worker::WorkerLost& lost) {
    throw Error(ErrorKind::environment, fmt::format("{}: a worker process {} while it loaded this cuDNN ({})", cudnn,
                                                    lost.timed_out ? "hung" : "died", lost.end.text()));
  }
}

void run_matrix(const Matrix& matrix, const std::vector<CellPlace>& places, const CampaignOptions& options,
                const OnCell& on_cell) {
  const size_t jobs = jobs_of(options);
  const auto portions = portions_of(places, jobs);
  auto stopped = [&] { return options.stop != nullptr && *options.stop; };
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  auto work = [&] {
    std::unique_ptr<JobWorker> worker;
    Reporter reporter(on_cell);
    for (size_t p; (p = next++) < portions.size() && !stopped();) {
      const CellPlace& first = places[portions[p].begin];
      if (!worker || !same_worker(worker->place, first)) worker = std::make_unique<JobWorker>(matrix, first, options);
      for (size_t i = portions[p].begin; i < portions[p].end && !stopped(); ++i) {
        Result result = worker->run.run(matrix.questions[places[i].config],
                                        i + 1 < portions[p].end ? &matrix.questions[places[i + 1].config] : nullptr);
        // A worker that the same Ctrl-C ended says nothing about cuDNN.
        if (!stopped() || (!result.crash && !result.findings.plans_run)) reporter.add(places[i], std::move(result));
      }
    }
    reporter.finish();
  };
  auto guarded = [&] {
    try {
      work();
    } catch (...) {
      next = portions.size();  // the others need not go on
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < std::min(jobs, portions.size()); ++i) threads.emplace_back(guarded);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace attnprobe::campaign
