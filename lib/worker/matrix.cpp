#include "attnprobe/worker/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

#include "attnprobe/error.hpp"
#include "attnprobe/target/catalogue.hpp"
#include "attnprobe/worker/target_run.hpp"
#include "attnprobe/worker/walk_cache.hpp"

namespace attnprobe::worker {
namespace {

// Cells that one worker is asked, one after the other.
struct Portion {
  size_t begin = 0, end = 0;  // of the places
};

bool same_worker(const CellPlace& a, const CellPlace& b) {
  return a.cudnn == b.cudnn && a.target == b.target;
}

// All that one cuDNN and one target have where there are many such; smaller portions, which several workers
// share, where there are few. A worker's start costs as much as some ten cells.
std::vector<Portion> portions_of(const std::vector<CellPlace>& places, size_t jobs) {
  constexpr size_t small = 32, many = 4;
  std::vector<Portion> whole, pieces;
  for (size_t i = 0; i < places.size(); ++i) {
    const bool same = !whole.empty() && same_worker(places[i], places[i - 1]);
    if (same)
      whole.back().end = i + 1;
    else
      whole.push_back({i, i + 1});
    if (same && i - pieces.back().begin < small)
      pieces.back().end = i + 1;
    else
      pieces.push_back({i, i + 1});
  }
  return jobs == 1 || whole.size() >= many * jobs ? whole : pieces;
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
  auto bound = [&](size_t i) {
    return places.begin() + static_cast<std::ptrdiff_t>(places.size() * i / count);
  };
  return {bound(index - 1), bound(index)};
}

cudnn::LibraryInfo identify(const std::string& cudnn, const CampaignOptions& options) {
  if (options.cache != nullptr)
    if (auto known = options.cache->library(cudnn)) return *known;
  const target::Target& any = *target::find("h200");
  try {
    Client client(any, Client::Seconds(options.timeout_seconds));
    auto library = client.open(cudnn, any);
    if (options.cache != nullptr) options.cache->store_library(cudnn, library);
    return library;
  } catch (const WorkerLost& lost) {
    throw Error(ErrorKind::environment,
                fmt::format("{}: a worker process {} while it loaded this cuDNN ({})", cudnn,
                            lost.timed_out ? "hung" : "died", lost.end.text()));
  }
}

void run_matrix(const Matrix& matrix, const std::vector<CellPlace>& places, const CampaignOptions& options,
                const OnCell& on_cell) {
  const size_t jobs = jobs_of(options);
  const auto portions = portions_of(places, jobs);
  auto stopped = [&] { return options.stop != nullptr && *options.stop; };
  std::atomic<size_t> next{0};
  auto work = [&] {
    std::unique_ptr<JobWorker> worker;
    // What becomes of one answer is done while cuDNN is asked for the next.
    std::future<void> reporting;
    for (size_t p; (p = next++) < portions.size();) {
      const CellPlace& first = places[portions[p].begin];
      if (!worker || !same_worker(worker->place, first))
        worker = std::make_unique<JobWorker>(matrix, first, options);
      for (size_t i = portions[p].begin; i < portions[p].end; ++i) {
        if (stopped()) return;
        Result result =
            worker->run.run(matrix.questions[places[i].config],
                            i + 1 < portions[p].end ? &matrix.questions[places[i + 1].config] : nullptr);
        // A worker that the same Ctrl-C ended says nothing about cuDNN.
        if (stopped() && (result.crash || result.findings.plans_run)) return;
        if (reporting.valid()) reporting.get();
        reporting =
            std::async(std::launch::async, [&on_cell, place = places[i], cell = std::move(result)]() mutable {
              add_version_rules(cell);
              on_cell(place, cell);
            });
      }
    }
    if (reporting.valid()) reporting.get();
  };
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < std::min(jobs, portions.size()); ++i) threads.emplace_back(work);
}

}  // namespace attnprobe::worker
