// Plans under compute-sanitizer: parsing its log, and the reported findings.
#include "run_answers.hpp"
#include "worker/sanitizer_log.hpp"

namespace attnprobe::test::sanitizer_test {

namespace fs = std::filesystem;
using probe::SanitizerStatus;

namespace {

const std::string fallback = on_h200 + "--mode FALLBACK --plans run --sanitize=memcheck";

// A tool that prints the file's content and starts the program to examine.
class Tool {
 public:
  explicit Tool(const std::string& log) {
    std::ofstream(folder_.path() / "log") << log;
    const auto program = folder_.path() / "compute-sanitizer";
    std::ofstream(program) << R"(#!/bin/sh
while [ "$1" != --log-file ]; do shift; done
cp "$(dirname "$0")/log" "$2"
shift 2
exec "$@"
)";
    fs::permissions(program, fs::perms::owner_all);
  }
  std::string path() const { return folder_.path().string() + ":" + std::getenv("PATH"); }
  Environment environment() const {
    Environment with = double_with("right");
    with["PATH"] = path();
    return with;
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("a log of compute-sanitizer is read as counts, messages and kernels", "[worker]") {
  const auto memcheck = worker::read_sanitizer_log(
      "========= COMPUTE-SANITIZER\n"
      "========= Invalid __global__ read of size 16 bytes\n"
      "=========     at void kernel<(int)4>(float *)+0x1a0\n"
      "=========     by thread (0,0,0) in block (0,0,0)\n"
      "=========     Address 0x7f0000 is out of bounds\n"
      "=========\n"
      "========= Invalid __global__ read of size 16 bytes\n"
      "=========     at void kernel<(int)4>(float *)+0x1b0 in file.cu:7\n"
      "=========     by thread (1,0,0) in block (0,0,0)\n"
      "========= Program hit something without a place\n"
      "========= ERROR SUMMARY: 3 errors\n");
  CHECK(memcheck.status == SanitizerStatus::errors);
  CHECK(memcheck.errors == 3);
  REQUIRE(memcheck.found.size() == 2);
  CHECK(memcheck.found[0].what == "Invalid __global__ read of size 16 bytes");
  CHECK(memcheck.found[0].kernel == "void kernel<(int)4>(float *)");
  CHECK(memcheck.found[0].count == 2);
  CHECK(memcheck.found[1].what == "Program hit something without a place");
  CHECK(memcheck.found[1].kernel.empty());
  const auto race = worker::read_sanitizer_log(
      "========= COMPUTE-SANITIZER\n"
      "========= Error: Race reported between Write access at kernel(int *)+0x90\n"
      "=========     and Read access at kernel(int *)+0xd0 [124 hazards]\n"
      "=========\n"
      "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n");
  CHECK(race.status == SanitizerStatus::errors);
  CHECK(race.errors == 1);
  REQUIRE(race.found.size() == 1);
  CHECK(race.found[0].what == "Race reported between Write access");
  CHECK(race.found[0].kernel == "kernel(int *)");
  const auto clean = worker::read_sanitizer_log("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n");
  CHECK(clean.status == SanitizerStatus::clean);
  CHECK(clean.found.empty());
  CHECK(worker::read_sanitizer_log("").status == SanitizerStatus::failed);
  CHECK(worker::read_sanitizer_log("========= COMPUTE-SANITIZER\n").status == SanitizerStatus::failed);
}

TEST_CASE("each plan runs under the sanitizer, and its errors are reported and set the exit code", "[run][slow]") {
  const Tool clean("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n");
  const Answer right = ask(fallback, clean.environment());
  CHECK(right.exit_code == 0);
  check_ran(right, 1);
  for (const Json& config : viable(right, 2)) {
    const Json& under = config["run"]["sanitized"];
    REQUIRE(under.size() == 1);
    CHECK(under[0]["tool"] == "memcheck");
    CHECK(under[0]["status"] == "clean");
    CHECK(under[0]["message"] == "");
  }
  CHECK(contains(right.text, "engine 1: memcheck: no errors"));
  const Tool bad(
      "========= COMPUTE-SANITIZER\n========= Invalid __shared__ write of size 4 bytes\n=========     at k+0x10\n"
      "========= ERROR SUMMARY: 1 error\n");
  const Answer wrong = ask(fallback, bad.environment());
  CHECK(wrong.exit_code == 5);
  CHECK(contains(wrong.text, "! engine 1: memcheck: 1 error: 1 times Invalid __shared__ write of size 4 bytes, in k"));
  const Tool silent("");
  const Answer unknown = ask(fallback, silent.environment());
  CHECK(unknown.exit_code == 0);
  CHECK(contains(unknown.text, "! engine 1: memcheck: it reported nothing; its log has no summary"));
}

TEST_CASE("option --sanitize is refused without execution, with an unknown value and without the tool", "[run]") {
  const Tool tool("");
  const Run simulated = run_attnprobe(on_h200 + "--sanitize", {{"PATH", tool.path()}});
  CHECK(simulated.exit_code == 2);
  CHECK_THAT(simulated.err, ContainsSubstring("--sanitize needs plans that run"));
  const Run word = run_attnprobe(on_h200 + "--sanitize=valgrind");
  CHECK(word.exit_code == 2);
  CHECK_THAT(word.err, ContainsSubstring("memcheck"));
  if (shell("command -v /usr/local/cuda/bin/compute-sanitizer /usr/bin/compute-sanitizer").out.empty()) {
    const Run missing = run_attnprobe(fallback, {{"ATTNPROBE_TEST_PLANS", "right"}, {"PATH", "/usr/bin:/bin"}});
    CHECK(missing.exit_code == 3);
    CHECK_THAT(missing.err, ContainsSubstring("compute-sanitizer is neither on PATH nor in bin of CUDA_HOME"));
  }
}

}  // namespace attnprobe::test::sanitizer_test
