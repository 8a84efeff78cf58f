// A killed run of plans can be resumed: no findings are lost or asked again.
#include <fmt/format.h>

#include <fstream>

#include "run_answers.hpp"
#include "support.hpp"

namespace attnprobe::test::run_resume_test {

namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder() {
    Json configs = Json::array();
    for (int name = 1; name <= 8; ++name)
      configs.push_back({{"name", std::to_string(name)},
                         {"heads", 1},
                         {"seqlen", 16},
                         {"head_dim", 64},
                         {"pattern", "sdpa_composite"}});
    std::ofstream(folder_.path() / "configs.json") << configs.dump();
  }
  fs::path path(const std::string& name) const { return folder_.path() / name; }
  std::string command() const {
    return fmt::format(
        "--config {} --target h200 --mode FALLBACK --plans run --quick --timing none --repeat 0 --jobs 1 --format json -o {}",
        path("configs.json").string(), path("report.json").string());
  }
  std::string unfinished() const { return path("report.json.unfinished").string(); }
  // Killed when SQLite's log of the findings has a few results.
  void leave_unfinished() const {
    const Run killed = shell(
        fmt::format(
            "{0} {1} & while kill -0 $! && [ $(stat -c %s {2}-wal || echo 0) -lt 30000 ]; do sleep 0.02; done; kill -9 $!",
            program(), command(), unfinished()),
        double_with("right"));
    INFO(killed.err);
    REQUIRE(fs::exists(unfinished()));
  }
  std::map<std::string, int> statuses() const {
    const Json report = Json::parse(read_text(path("report.json").string()));
    std::map<std::string, int> count;
    for (const Json& result : report["results"])
      for (const Json& config : result["engine_configs"])
        if (config["run"].is_object()) ++count[config["run"]["status"].get<std::string>()];
    return count;
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("a killed run continues with --resume and asks nothing twice", "[run][resume]") {
  const Folder folder;
  folder.leave_unfinished();
  // The computed plans distinguish new answers from earlier findings.
  const Run resumed = run_attnprobe(folder.command() + " --resume", double_with("wrong"));
  INFO(resumed.err);
  CHECK(resumed.exit_code == 5);
  auto statuses = folder.statuses();
  CHECK(statuses["ok"] >= 2);
  CHECK(statuses["wrong_result"] >= 2);
  CHECK(statuses["ok"] + statuses["wrong_result"] == 16);
  CHECK_FALSE(fs::exists(folder.unfinished()));
  CHECK_FALSE(fs::exists(folder.unfinished() + "-wal"));
}

TEST_CASE("a run without --resume starts over, even with other questions", "[run][resume]") {
  const Folder folder;
  folder.leave_unfinished();
  CHECK(run_attnprobe(folder.command() + " --resume --seed 2", double_with("wrong")).exit_code == 5);
  CHECK(folder.statuses() == std::map<std::string, int>{{"wrong_result", 16}});
  folder.leave_unfinished();
  CHECK(run_attnprobe(folder.command(), double_with("wrong")).exit_code == 5);
  CHECK(folder.statuses() == std::map<std::string, int>{{"wrong_result", 16}});
}

TEST_CASE("option --resume needs a report file, and accepts no other file as an unfinished run", "[run][resume]") {
  const Run no_file = run_attnprobe("--heads 1 --seqlen 64 --head-dim 64 --target h200 --resume");
  CHECK(no_file.exit_code == 2);
  CHECK_THAT(no_file.err, ContainsSubstring("--resume requires --output"));
  const Folder folder;
  std::ofstream(folder.unfinished()) << "my own notes, which are longer than a header of SQLite's file";
  for (const char* option : {"", " --resume"}) {
    const Run refused = run_attnprobe(folder.command() + option, double_with("right"));
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.err, ContainsSubstring("report.json.unfinished: it is not the state of an interrupted run"));
  }
  CHECK(read_text(folder.unfinished()).starts_with("my own notes"));
}

}  // namespace attnprobe::test::run_resume_test
