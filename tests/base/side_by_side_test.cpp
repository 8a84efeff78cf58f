#include "base/side_by_side.hpp"

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "catch.hpp"

namespace attnprobe::test::side_by_side_test {

TEST_CASE("each piece of work is done once, for any number of threads", "[base]") {
  for (const size_t threads : {0, 1, 3, 100}) {
    std::vector<std::atomic<int>> done(50);
    side_by_side(threads, done.size(), [&](size_t i) { ++done[i]; });
    CHECK(std::accumulate(done.begin(), done.end(), 0) == 50);
    CHECK(std::all_of(done.begin(), done.end(), [](const auto& times) { return times == 1; }));
  }
  side_by_side(4, 0, [](size_t) { FAIL("there is nothing to do"); });
}

TEST_CASE("a failure stops the remaining work and is reported", "[base]") {
  std::vector<size_t> done;
  CHECK_THROWS_AS(side_by_side(1, 10,
                               [&](size_t i) {
                                 done.push_back(i);
                                 if (i == 2) throw std::runtime_error("two");
                               }),
                  std::runtime_error);
  CHECK(done == std::vector<size_t>{0, 1, 2});
  std::atomic<int> begun = 0;
  CHECK_THROWS_WITH(side_by_side(4, 1000,
                                 [&](size_t) {
                                   ++begun;
                                   throw std::runtime_error("at once");
                                 }),
                    "at once");
  CHECK(begun <= 4);
}

}  // namespace attnprobe::test::side_by_side_test
