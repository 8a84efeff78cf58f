// If cuDNN crashes its process, one cell is lost, with the reason.
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>

#include "catch.hpp"
#include "gpu/catalogue.hpp"
#include "sanitizers.hpp"
#include "support.hpp"
#include "worker/client.hpp"
#include "worker/process.hpp"

namespace attnprobe::test::worker_test {

using answer::Answer;
using answer::Verdict;

namespace {

// Workers inherit the environment; the fault is triggered at a named stage (lib/worker/test_faults.hpp).
class Fault {
 public:
  explicit Fault(const char* fault) { setenv("ATTNPROBE_TEST_FAULT", fault, 1); }
  ~Fault() { unsetenv("ATTNPROBE_TEST_FAULT"); }
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;
};

const char* const two_configs =
    R"([{"heads": 8, "seqlen": 128, "head_dim": 64}, {"heads": 8, "seqlen": 256, "head_dim": 64}])";

std::vector<Answer> probe_with_fault(const std::string& configs, const std::string& targets, double timeout) {
  asking::PlanOptions options;
  options.timeout_seconds = timeout;
  return answers_to(asking::questions_of(attention::parse_configs(configs, "test")), gpu::simulated_targets(targets),
                    cudnn_path(), options)
      .results;
}

}  // namespace

TEST_CASE("a segfault loses its cells, names signal and stage, and keeps earlier results", "[worker]") {
  const Fault fault("segfault@mode FALLBACK");
  const auto results = probe_with_fault(two_configs, "h200,l40s", 60);
  REQUIRE(results.size() == 4);
  for (const Answer& result : results) {
    CHECK(result.verdict == Verdict::crashed);
    CHECK(contains(result.crash->how, "SIGSEGV"));
    CHECK(result.crash->stage.text == "mode FALLBACK");
    CHECK(result.findings.modes.size() == 2);  // A and B were answered
    CHECK(result.root_cause->category == answer::Category::crash);
  }
}

TEST_CASE("an abort is distinguished from a segfault", "[worker]") {
  const Fault fault("abort@mode A");
  CHECK(contains(probe_with_fault(two_configs, "h200", 60).at(1).crash->how, "SIGABRT"));
}

TEST_CASE("a worker that exits in the middle is a crash with its exit status", "[worker]") {
  const Fault fault("exit@mode A");
  CHECK(probe_with_fault(two_configs, "h200", 60).at(0).crash->how == "exit status 7");
}

TEST_CASE("a worker that dies at start-up means a broken environment, not a bad graph", "[worker]") {
  const Fault fault("segfault@open");
  for (const Answer& result : probe_with_fault(two_configs, "h200", 60)) {
    CHECK(result.verdict == Verdict::error);
    CHECK(result.environment_broken);
    CHECK(contains(result.crash->how, "SIGSEGV"));
    CHECK(result.crash->stage.step == probe::Step::start);
    CHECK(result.root_cause->category == answer::Category::environment);
    CHECK(contains(result.root_cause->explanation, "died while it loaded cuDNN"));
    CHECK(contains(result.root_cause->explanation, "SIGSEGV"));
  }
}

TEST_CASE("a hang ends at the time limit", "[worker]") {
  const Fault fault("hang@mode A");
  const Answer result = probe_with_fault(R"({"heads": 8, "seqlen": 128, "head_dim": 64})", "h200", 1.5).at(0);
  CHECK(result.verdict == Verdict::timeout);
  CHECK(result.crash->stage.text == "mode A");
  CHECK(contains(result.root_cause->explanation, "did not return in time"));
}

TEST_CASE("results are in the order of configs and targets, regardless of which finishes first", "[worker]") {
  const auto results = probe_with_fault(two_configs, "b200,a100,h200", 60);
  std::vector<std::string> order;
  for (const Answer& result : results)
    order.push_back(std::to_string(result.config.spec.seqlen_q) + " " + result.target.id);
  CHECK(order == std::vector<std::string>{"128 b200", "128 a100", "128 h200", "256 b200", "256 a100", "256 h200"});
}

TEST_CASE("a request to a worker without a cuDNN is an error, not a crash", "[worker]") {
  worker::Client client(*gpu::find("h200"), worker::Client::Seconds(30));
  CHECK_THROWS_WITH(client.walk({}, {}), test::ContainsSubstring("before \"open\""));
}

TEST_CASE("inspecting the driver works without a driver", "[worker]") {
  const auto driver = worker::Client(worker::Client::Seconds(30)).inspect_driver();
  if (driver.gpus.empty()) CHECK(!driver.problem.empty());
  for (const auto& gpu : driver.gpus) CHECK(gpu.sm > 0);
}

TEST_CASE("a process that cannot start leaves no descriptor open", "[worker]") {
  if (test::under_sanitizers()) {
    WARN("SKIPPED: sanitizers need descriptors themselves");
    return;
  }
  const auto open_descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  const auto before = open_descriptors();
  rlimit usual{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &usual) == 0);
  // Refuses, once each, the descriptors that a start needs.
  for (rlim_t spare = 0; spare < 7; ++spare) {
    rlimit few = usual;
    few.rlim_cur = static_cast<rlim_t>(before) + spare;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
    try {
      const worker::Process process({"/bin/true"}, {});
    } catch (const Error& e) {
      CHECK(contains(e.what(), "cannot start a worker process: "));
    }
    REQUIRE(setrlimit(RLIMIT_NOFILE, &usual) == 0);
    CHECK(open_descriptors() == before);
  }
  CHECK_THROWS_WITH(worker::Process({"/nowhere"}, {}), test::ContainsSubstring("/nowhere: No such file"));
  CHECK(open_descriptors() == before);
}

}  // namespace attnprobe::test::worker_test
