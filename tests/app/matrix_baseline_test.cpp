// attnprobe matrix --baseline: exit codes, files and messages.
#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test::baseline_command_test {

namespace {

std::string text_in(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Project {
 public:
  // Two configs; every cuDNN refuses one of them for its head dimension.
  explicit Project(int head_dim = 64) { config(head_dim); }
  void config(int head_dim, const std::string& more = "") {
    folder_.file("configs.json", fmt::format(R"([{{"name": "good", "heads": 8, "seqlen": 128, "head_dim": {} {}}},
      {{"name": "odd", "heads": 8, "seqlen": 128, "head_dim": 60}}])",
                                             head_dim, more));
  }
  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  Run run(const std::string& more) const {
    return run_attnprobe(fmt::format("matrix {0}/configs.json --baseline {0}/attention.lock --no-cache {1}",
                                     folder_.path().string(), more));
  }
  std::string lock() const { return text_in(path("attention.lock")); }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("a baseline is written with --update, passes while nothing gets worse, and needs no folder", "[baseline]") {
  Project project;
  const Run missing = project.run("--target h200");
  CHECK(missing.exit_code == 2);
  CHECK_THAT(missing.err, ContainsSubstring("attention.lock: the file does not exist; --update writes it"));
  // A no is not a failure of a baseline, nor of the run that writes it.
  const Run first = project.run("--target h200,l40s --update");
  INFO(first.err);
  CHECK(first.exit_code == 0);
  CHECK_THAT(first.out, ContainsSubstring("attention.lock: 4 cells written"));
  const std::string lock = project.lock();
  CHECK_THAT(lock, ContainsSubstring("\ngood h200 9.19.0 yes ") && ContainsSubstring("\nodd l40s 9.19.0 no - "));
  const Run same = project.run("--target l40s,h200 --jobs 2");
  CHECK(same.exit_code == 0);
  CHECK_THAT(same.out, ContainsSubstring("attention.lock: 4 cells compared: nothing got worse\n"));
  // A missing and a new GPU are reported, but are not a failure. The lock is unchanged.
  const Run other = project.run("--target l40s,t4");
  CHECK(other.exit_code == 0);
  CHECK_THAT(other.out, ContainsSubstring("2 cells compared: nothing got worse; 2 new, 2 not asked") &&
                            ContainsSubstring("not asked (2)\n  good on h200, cuDNN 9.19.0\n      was: yes, engine "));
  CHECK(project.lock() == lock);
  // The same bytes, in any order.
  CHECK(project.run("--target l40s,h200 --update").exit_code == 0);
  CHECK(project.lock() == lock);
}

TEST_CASE("only a worse answer fails the command, its JUnit and its summary", "[baseline]") {
  Project project;
  REQUIRE(project.run("--target h200 --update").exit_code == 0);
  project.config(100);
  const std::string junit = project.path("junit.xml").string(), summary = project.path("summary.md").string();
  const Run worse = project.run(fmt::format("--target h200 --out {} --report junit={} --report md={}",
                                            project.path("report").string(), junit, summary));
  CHECK(worse.exit_code == 1);
  CHECK_THAT(worse.out, ContainsSubstring("2 cells compared: 1 worse\n\nworse (1)\n  good on h200, cuDNN 9.19.0\n") &&
                            ContainsSubstring("was: yes, engine ") && ContainsSubstring("attention.lock:2)") &&
                            ContainsSubstring("is: no: "));
  CHECK_THAT(text_in(junit),
             ContainsSubstring("tests=\"2\" failures=\"1\" errors=\"0\"") && ContainsSubstring("name=\"odd\"/>"));
  CHECK_THAT(text_in(summary), ContainsSubstring("### Got worse (1)") && !ContainsSubstring("odd"));
  CHECK(text_in(project.path("report") / "report.xml") == text_in(junit));
  CHECK(text_in(project.path("report") / "report.md") == text_in(summary));
  CHECK_THAT(text_in(project.path("report") / "index.html"), ContainsSubstring("odd"));
  // --update adds it to the baseline.
  CHECK(project.run("--target h200 --update").exit_code == 0);
  CHECK(project.run("--target h200").exit_code == 0);
}

TEST_CASE("a config's own expectation keeps its exit code with a baseline", "[baseline]") {
  Project project;
  project.config(100, R"(, "expect": "supported")");
  const Run update = project.run("--target h200 --update");
  CHECK(update.exit_code == 0);  // --update did what was requested
  CHECK_THAT(update.out,
             ContainsSubstring("not as expected (1)\n  good on h200, cuDNN 9.19.0: no, expected supported"));
  CHECK(project.run("--target h200").exit_code == 1);
  project.config(100, R"(, "expect": "no")");
  CHECK(project.run("--target h200").exit_code == 0);
}

TEST_CASE("a baseline that cannot be compared with this run is refused", "[baseline]") {
  Project project;
  REQUIRE(project.run("--target h200 --mode A --update").exit_code == 0);
  CHECK_THAT(project.lock(), ContainsSubstring("\n# asked with: --mode A\n"));
  const Run otherwise = project.run("--target h200");
  CHECK(otherwise.exit_code == 2);
  CHECK_THAT(otherwise.err,
             ContainsSubstring("it was made with \"--mode A\", this run uses the usual options; --update rewrites it"));
  project.folder().file("attention.lock", project.lock() + "<<<<<<< HEAD\n");
  const Run damaged = project.run("--target h200 --mode A");
  CHECK(damaged.exit_code == 2);
  CHECK_THAT(damaged.err, ContainsSubstring("attention.lock:5: \"<<<<<<< HEAD\" is not a cell"));
  const Run mended = project.run("--target h200 --mode A --update");
  CHECK(mended.exit_code == 0);
  CHECK_THAT(mended.err, ContainsSubstring("it is rewritten"));
  // A file that is not a baseline is not replaced.
  project.folder().file("attention.lock", "mine\n");
  CHECK(project.run("--target h200 --update").exit_code == 2);
  CHECK(project.lock() == "mine\n");
}

TEST_CASE("contradictory baseline options are refused by name", "[baseline]") {
  const Project project;
  const std::pair<const char*, const char*> cases[] = {
      {"--shard 1/2 --update", "--update: not allowed with --shard 1/2, which asks only a part of the matrix"},
      {"--update --report xml=a", "--report: \"xml=a\" is not FORMAT=FILE; allowed formats: \"junit\", \"md\""},
      {"--update --report md=/nowhere/a.md", "/nowhere/a.md: cannot be written"},
      {"--resume", "--resume requires --out"}};
  for (const auto& [options, message] : cases) {
    const Run run = project.run(std::string("--target h200 ") + options);
    INFO(run.err);
    CHECK(run.exit_code == 2);
    CHECK_THAT(run.err, ContainsSubstring(message));
  }
  CHECK_THAT(run_attnprobe("matrix configs/bert.json").err,
             ContainsSubstring("no output is selected; allowed: --out FOLDER, --baseline FILE, or both"));
  CHECK_THAT(run_attnprobe("matrix configs/bert.json --update").err, ContainsSubstring("--update requires --baseline"));
}

TEST_CASE("cells that failed because of the machine do not change the baseline", "[baseline]") {
  Project project;
  REQUIRE(project.run("--target h200 --update").exit_code == 0);
  const std::string lock = project.lock();
  const Environment little{{"ATTNPROBE_MAX_WORKER_BYTES", "1"}};
  const Run broken = run_attnprobe(fmt::format("matrix {0}/configs.json --baseline {0}/attention.lock --no-cache "
                                               "--target h200 --update",
                                               project.folder().path().string()),
                                   little);
  INFO(broken.out << broken.err);
  CHECK(broken.exit_code == 3);
  CHECK(project.lock() == lock);
}

}  // namespace attnprobe::test::baseline_command_test
