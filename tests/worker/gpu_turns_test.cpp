// Turns on a GPU: builders, and the worker that runs plans.
#include "worker/gpu_turns.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <thread>

#include "catch.hpp"

namespace attnprobe::test::gpu_turns_test {

using worker::GpuTurns;

namespace {

// Whether a turn is available immediately; otherwise acquires and returns it later.
template <class Take>
struct Attempt {
  explicit Attempt(Take take) : done(std::async(std::launch::async, [take] { take(); })) {}
  bool had() { return done.wait_for(std::chrono::milliseconds(150)) == std::future_status::ready; }
  std::future<void> done;
};

}  // namespace

TEST_CASE("plans are built during an untimed turn, and only one worker has the turn", "[run]") {
  GpuTurns turns;
  auto turn = std::optional(turns.turn(false));
  Attempt build([&] { turns.build(); });
  CHECK(build.had());
  Attempt other([&] { turns.turn(false); });
  CHECK_FALSE(other.had());
  turn.reset();
  CHECK(other.had());
}

TEST_CASE("a timed turn waits for running builds, and no new build starts until it ends", "[run]") {
  GpuTurns turns;
  auto building = std::optional(turns.build());
  std::atomic<bool> may_end = false;
  Attempt timed([&] {
    const auto turn = turns.turn(true);
    while (!may_end) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  });
  CHECK_FALSE(timed.had());
  // New builders wait for the timed turn, which could otherwise wait forever.
  Attempt build([&] { turns.build(); });
  CHECK_FALSE(build.had());
  building.reset();
  CHECK_FALSE(build.had());
  may_end = true;
  CHECK(timed.had());
  CHECK(build.had());
}

TEST_CASE("the number of simultaneous builds is limited, for any number of waiting workers", "[run]") {
  GpuTurns turns(2);
  auto first = std::optional(turns.build());
  const auto second = turns.build();
  Attempt third([&] { turns.build(); });
  CHECK_FALSE(third.had());
  first.reset();
  CHECK(third.had());
}

TEST_CASE("attnprobe's own kernels count as half of the simultaneous builds", "[run]") {
  GpuTurns turns(4);
  auto kernels = std::optional(turns.build_kernels());
  const auto first = turns.build(), second = turns.build();
  Attempt third([&] { turns.build(); });
  CHECK_FALSE(third.had());
  kernels.reset();
  CHECK(third.had());
}

TEST_CASE("at most two workers start on a GPU at a time, none during a timed turn", "[run]") {
  GpuTurns turns;
  auto first = std::optional(turns.open()), second = std::optional(turns.open());
  Attempt third([&] { turns.open(); });
  CHECK_FALSE(third.had());
  first.reset();
  CHECK(third.had());
  Attempt timed([&] { turns.turn(true); });
  CHECK_FALSE(timed.had());
  second.reset();
  CHECK(timed.had());
  auto turn = std::optional(turns.turn(true));
  Attempt other([&] { turns.open(); });
  CHECK_FALSE(other.had());
  turns.open();  // its worker was lost
  turn.reset();
  CHECK(other.had());
}

}  // namespace attnprobe::test::gpu_turns_test
