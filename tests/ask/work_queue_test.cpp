// The distribution of cells: every cell once, workers reused, and one job at a time on a GPU that runs plans.
#include "ask/work_queue.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "catch.hpp"

namespace attnprobe::test::work_queue_test {

using namespace attnprobe::asking;

namespace {

std::vector<CellPlace> places(size_t configs, size_t targets, size_t cudnns) {
  QuestionGroup matrix;
  matrix.questions.resize(configs);
  matrix.targets.resize(targets);
  matrix.cudnns.resize(cudnns);
  return places_of(matrix);
}

size_t size_of(const std::optional<Portion>& portion) {
  REQUIRE(portion);
  return portion->end - portion->begin;
}

}  // namespace

TEST_CASE("Every cell is asked once, for any number of jobs", "[queue]") {
  for (const size_t jobs : {size_t{1}, size_t{2}, size_t{7}}) {
    const auto all = places(37, 3, 2);
    WorkQueue queue(all, jobs, 8, {{1, 1}});
    std::vector<std::atomic<int>> asked(all.size());
    {
      std::vector<std::jthread> threads;
      for (size_t j = 0; j < jobs; ++j)
        threads.emplace_back([&] {
          for (std::optional<Portion> portion; (portion = queue.take(portion));)
            for (size_t i = portion->begin; i < portion->end; ++i) ++asked[i];
        });
    }
    CHECK(std::all_of(asked.begin(), asked.end(), [](const auto& count) { return count == 1; }));
  }
}

TEST_CASE("All jobs share the configs of one target, in shrinking portions", "[queue]") {
  const auto all = places(263, 1, 1);
  WorkQueue queue(all, 2, 8, {});
  CHECK(queue.useful_jobs() == 2);
  std::optional<Portion> one, other;
  CHECK(size_of(one = queue.take({})) == 64);
  CHECK(size_of(other = queue.take({})) == 49);
  size_t smallest = 64;
  for (one = queue.take(one); one; one = queue.take(one)) smallest = std::min(smallest, one->end - one->begin);
  CHECK(smallest == 1);
  CHECK_FALSE(queue.take(other));
}

TEST_CASE("A few cells start no further worker, and a job keeps its own worker", "[queue]") {
  const auto all = places(5, 2, 1);
  WorkQueue queue(all, 4, 8, {});
  CHECK(queue.useful_jobs() == 2);
  auto one = queue.take({}), other = queue.take({});
  REQUIRE((one && other));
  CHECK(all[one->begin].target == 0);
  CHECK(all[other->begin].target == 1);
  CHECK_FALSE(queue.take({}));  // a third worker would get fewer than eight cells
  for (; one; one = queue.take(one)) CHECK(all[one->begin].target == 0);
  for (; other; other = queue.take(other)) CHECK(all[other->begin].target == 1);
}

TEST_CASE("A GPU that runs plans has one worker at a time, for any cuDNN", "[queue]") {
  const auto all = places(20, 2, 3);
  const size_t device = 1;
  WorkQueue queue(all, 4, 2, {{device, 1}});
  std::atomic<int> on_device{0}, most{0};
  std::map<size_t, std::atomic<int>> asked;
  for (size_t v = 0; v < 3; ++v) asked[v] = 0;
  {
    std::vector<std::jthread> threads;
    for (size_t j = 0; j < 4; ++j)
      threads.emplace_back([&] {
        for (std::optional<Portion> portion; (portion = queue.take(portion));) {
          if (all[portion->begin].target != device) continue;
          most = std::max<int>(most, ++on_device);
          asked[all[portion->begin].cudnn] += static_cast<int>(portion->end - portion->begin);
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
          --on_device;
        }
      });
  }
  CHECK(most == 1);
  for (const auto& [version, count] : asked) CHECK(count == 20);
  WorkQueue only_device(all, 4, 2, {{0, 1}, {1, 1}});
  CHECK(only_device.useful_jobs() == 2);
}

TEST_CASE("Abandoned work is not assigned, and no worker waits for it", "[queue]") {
  const auto all = places(20, 1, 2);
  WorkQueue queue(all, 2, 2, {{0, 1}});
  const auto busy = queue.take({});
  REQUIRE(busy);
  std::optional<Portion> waited = busy;
  std::jthread waiting([&] { waited = queue.take({}); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  queue.abandon();
  waiting.join();
  CHECK_FALSE(waited);
  CHECK_FALSE(queue.take(busy));
}

}  // namespace attnprobe::test::work_queue_test
