#include "attnprobe/worker/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
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

// Whole runs of one cuDNN and one target where there are many, pieces of them where there are few: a worker's
// start costs as much as some hundred cells.
std::vector<Portion> portions_of(const std::vector<CellPlace>& places, size_t jobs) {
  constexpr size_t least = 64, a_job = 6;
  const size_t most = std::max(least, places.size() / (jobs * a_job) + 1);
  std::vector<Portion> portions;
  for (size_t i = 0; i < places.size(); ++i) {
    const bool same = !portions.empty() && places[i].cudnn == places[i - 1].cudnn &&
                      places[i].target == places[i - 1].target;
    if (same && i - portions.back().begin < most)
      portions.back().end = i + 1;
    else
      portions.push_back({i, i + 1});
  }
  return portions;
}

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
    for (size_t p; (p = next++) < portions.size();) {
      const CellPlace& first = places[portions[p].begin];
      CampaignOptions with = options;
      with.cudnn = matrix.cudnns[first.cudnn].path;
      TargetRun run(matrix.targets[first.target], with);
      for (size_t i = portions[p].begin; i < portions[p].end; ++i) {
        if (stopped()) return;
        const Result result = run.run(matrix.questions[places[i].config]);
        // A worker that the same Ctrl-C ended says nothing about cuDNN.
        if (stopped() && (result.crash || result.findings.plans_run)) return;
        on_cell(places[i], result);
      }
    }
  };
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < std::min(jobs, portions.size()); ++i) threads.emplace_back(work);
}

}  // namespace attnprobe::worker
