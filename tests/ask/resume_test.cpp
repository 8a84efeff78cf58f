// Existing results: never lost, never mixed with those of another matrix, and retried if they failed because of the
// machine.
#include <algorithm>

#include "base/folder_lock.hpp"
#include "matrix_folder.hpp"

namespace attnprobe::test::resume_test {

namespace {

const std::string two_configs = R"({"targets": "h200", "defaults": {"heads": 8, "seqlen": 256, "head_dim": 64},
  "configs": [{"name": "plain"}, {"name": "causal", "mask": "causal"}]})";

void check_refused(const Run& run, const std::string& why) {
  INFO(run.err);
  CHECK(run.exit_code == 2);
  CHECK_THAT(run.err, ContainsSubstring(why));
}

}  // namespace

TEST_CASE("a refused command never damages a finished matrix", "[matrix][resume]") {
  const MatrixFolder folder(two_configs);
  const std::string cache = "--cache " + folder.path("answers.sqlite");
  REQUIRE(folder.run("m", cache).exit_code == 0);
  const std::string cells = folder.text("m/cells.jsonl");
  const std::string file = folder.path("m/cells.jsonl");
  check_refused(folder.run("m", cache + " --shard 3/2"), "--shard: \"3/2\" is not a shard");
  check_refused(folder.run("m", cache),
                file + ": it already has 2 of this matrix's 2 cells; --resume continues, --overwrite starts again");
  check_refused(
      folder.run("m", cache + " --target t4"),
      file +
          ": it has 2 cells of another matrix (it has the target \"h200\", which this command does not ask about); name another --out, or --overwrite to replace them");
  check_refused(folder.run("m", cache + " --resume --overwrite"), "--overwrite");
  CHECK(folder.text("m/cells.jsonl") == cells);
  folder.write("m/cells.jsonl", "my own notes\n");
  check_refused(folder.run("m", cache), "or --overwrite to replace the file");
  CHECK(folder.text("m/cells.jsonl") == "my own notes\n");
  CHECK(folder.run("m", cache + " --overwrite").exit_code == 0);
  CHECK(folder.text("m/cells.jsonl") == cells);
}

TEST_CASE("a folder may be merged into itself, but other cells in it are an error", "[matrix][resume]") {
  const MatrixFolder folder(two_configs);
  const std::string cache = "--cache " + folder.path("answers.sqlite");
  REQUIRE(folder.run("whole", cache).exit_code == 0);
  REQUIRE(folder.run("a", cache + " --shard 1/2").exit_code == 0);
  REQUIRE(folder.run("b", cache + " --shard 2/2").exit_code == 0);
  const auto merge = [&](const std::string& inputs, const std::string& out) {
    return run_attnprobe(fmt::format("merge {} --out {}", inputs, folder.path(out)));
  };
  REQUIRE(merge(folder.path("whole"), "whole").exit_code == 0);
  CHECK(merge(folder.path("a") + " " + folder.path("b"), "a").exit_code == 0);
  folder.check_equal("whole", "a");
  check_refused(merge(folder.path("b") + " --allow-missing", "a"),
                folder.path("a/cells.jsonl") + ": the folder already contains a different matrix");
  folder.check_equal("whole", "a");
  CHECK(merge(folder.path("b") + " --allow-missing --overwrite", "a").exit_code == 0);
  // A refused merge leaves its folder unchanged.
  folder.write("bad.json", "{}");
  CHECK(merge(folder.path("whole") + " " + folder.path("bad.json"), "whole").exit_code == 2);
  CHECK(merge(folder.path("whole"), "whole").exit_code == 0);
}

TEST_CASE("a second run into one folder is refused, naming the process that uses it", "[matrix][resume]") {
  const MatrixFolder folder(two_configs);
  std::filesystem::create_directory(folder.path("m"));
  // The lock of a dead process.
  folder.write("m/.attnprobe.lock", "process 1 on elsewhere, since 2001-01-01 00:00:00 UTC\n");
  {
    const FolderLock lock(folder.path("m"));
    CHECK(lock.problem().empty());
    const std::string holder =
        fmt::format("--out {}: another attnprobe is writing there (process {} on ", folder.path("m"), getpid());
    check_refused(folder.run("m"), holder);
    check_refused(folder.run("m", "--no-cache --resume"), holder);
    check_refused(run_attnprobe("merge " + folder.path("m") + " --out " + folder.path("m")), holder);
  }
  CHECK(folder.run("m").exit_code == 0);
  CHECK_FALSE(std::filesystem::exists(folder.path("m/.attnprobe.lock")));
}

TEST_CASE("the next run can use the folder of a killed run", "[matrix][resume]") {
  const MatrixFolder folder(two_configs);
  const Run killed = shell(fmt::format(
      "{0} matrix {1} --out {2} --no-cache & pid=$!; for i in {{1..500}}; do [ -s {2}/.attnprobe.lock ] && break; sleep "
      "0.02; done; kill -9 $pid; wait $pid",
      program(), folder.path("matrix.json"), folder.path("m")));
  CHECK(killed.exit_code == 137);
  CHECK(std::filesystem::exists(folder.path("m/.attnprobe.lock")));
  const Run next = folder.run("m", "--no-cache --resume");
  INFO(next.err);
  CHECK(next.exit_code == 0);
}

TEST_CASE("a matrix with an edited config is not resumed", "[matrix][resume]") {
  const MatrixFolder folder(two_configs);
  const std::string cache = "--cache " + folder.path("answers.sqlite");
  REQUIRE(folder.run("m", cache + " --shard 1/2").exit_code == 0);
  const std::string cells = folder.text("m/cells.jsonl");
  std::string edited = two_configs;
  edited.replace(edited.find("\"causal\"}"), 9, "\"causal\", \"batch\": 2}");
  folder.write("matrix.json", edited);
  check_refused(
      folder.run("m", cache + " --resume"),
      folder.path("m/cells.jsonl") +
          ": --resume: it is another matrix: the config \"causal\" has changed since then; name another --out, or --overwrite to start again");
  folder.write("matrix.json", two_configs);
  check_refused(folder.run("m", cache + " --resume --seed 7"),
                "it was asked with no options, now with the options \"--seed 7\"");
  CHECK(folder.text("m/cells.jsonl") == cells);
  // The spelling of options is ignored.
  CHECK(folder.run("m", cache + " --resume --title other --cudnn " + cudnn_path()).exit_code == 0);
}

TEST_CASE("a cell killed from outside is retried and not blamed on cuDNN", "[matrix][resume]") {
  const MatrixFolder folder(two_configs);
  REQUIRE(folder.run("whole").exit_code == 0);
  const Run killed = folder.run("m", "--no-cache --jobs 1", {{"ATTNPROBE_TEST_FAULT", "kill@mode B"}});
  INFO(killed.err);
  CHECK(killed.exit_code == 3);
  CHECK_THAT(killed.out, ContainsSubstring("2 cells: 2 environment"));
  CHECK_THAT(killed.err, ContainsSubstring("2 cells have no answer: "));
  CHECK(contains(folder.text("m/report.csv"), "killed from outside"));
  const Run resumed = folder.run("m", "--no-cache --resume");
  INFO(resumed.err);
  CHECK(resumed.exit_code == 0);
  CHECK_THAT(resumed.err, ContainsSubstring("retrying 2 cells that failed because of this machine"));
  folder.check_equal("whole", "m");
}

TEST_CASE("a worker that cannot start is an environment problem, and its cells are retried", "[matrix][resume]") {
  const MatrixFolder folder(two_configs);
  const std::string cache = "--cache " + folder.path("answers.sqlite");
  REQUIRE(folder.run("whole", cache).exit_code == 0);  // from here on, the library is known
  const Run broken = folder.run("m", cache + " --mode A", {{"ATTNPROBE_PROGRAM", "/nowhere/attnprobe"}});
  INFO(broken.err);
  CHECK(broken.exit_code == 3);
  const Run resumed = folder.run("m", cache + " --mode A --resume");
  CHECK(resumed.exit_code == 0);
  CHECK_THAT(resumed.err, ContainsSubstring("retrying "));
}

}  // namespace attnprobe::test::resume_test
