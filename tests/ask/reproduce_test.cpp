// The command that repeats a question: complete, short, and the same in every output.
#include "ask/reproduce.hpp"

#include <fstream>

#include "catch.hpp"
#include "report/model/cells.hpp"
#include "support.hpp"

namespace attnprobe::test::reproduce_test {

using namespace attnprobe::asking;

namespace {

const std::string question = "--heads 8 --seqlen 256 --head-dim 64";

std::string reproduce(const std::string& options) {
  const Run run = run_attnprobe(options + " --format jsonl");
  INFO(run.err);
  return Json::parse(run.out).at("reproduce");
}

}  // namespace

TEST_CASE("Defaults are omitted, and a version names the library", "[reproduce]") {
  CHECK_THAT(reproduce(question + " --target h200 --quick"),
             Catch::Matchers::Matches(
                 "attnprobe --heads 8 --seqlen 256 --head-dim 64 --quick --target h200 --cudnn 9\\.[0-9]+\\.[0-9]+"));
  CHECK(options_text(PlanOptions(), true) == " --plans none");
  PlanOptions usual;
  usual.walk.plans = probe::Plans::automatic;
  CHECK(options_text(usual, true).empty());
  CHECK(options_text(usual, false) == " --sweep");
}

TEST_CASE("Every option that changes an answer is in the command, which reproduces itself", "[reproduce]") {
  const std::string options =
      " --mode A,FALLBACK --engines all --plans build --timeout 77 --quick --data large --seed 7 --no-verify --timing "
      "fast --hot --cuda-graph --repeat 3 --raw-log";
  const std::string command = reproduce(question + options + " --target t4");
  CHECK_THAT(command, ContainsSubstring(question + options + " --target t4 --cudnn 9."));
  CHECK(reproduce(command.substr(std::string("attnprobe ").size())) == command);
}

TEST_CASE("The name of a library is looked up once and remains the same", "[reproduce]") {
  LibraryWords words;
  const auto version = CudnnVersion::parse("9.19.0");
  REQUIRE(version);
  CHECK_FALSE(words.known("/nowhere/libcudnn.so.9", *version));
  CHECK(words.word("/nowhere/libcudnn.so.9", *version) == cudnn_word("/nowhere/libcudnn.so.9", *version));
  CHECK(words.known("/nowhere/libcudnn.so.9", *version) == cudnn_word("/nowhere/libcudnn.so.9", *version));
  CHECK_FALSE(words.known("/elsewhere/libcudnn.so.9", *version));
}

TEST_CASE("The command names a target's file, and a library without a version by its path", "[reproduce]") {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "my gpu.json";
  std::ofstream(file) << run_attnprobe("targets show l40s").out;
  CHECK_THAT(reproduce(question + " --quick --target '" + file + "'"),
             ContainsSubstring(" --target '" + file + "' --cudnn 9."));
  CHECK(cudnn_word("/nowhere/libcudnn.so.9", 0) == "/nowhere/libcudnn.so.9");
  CHECK(cudnn_word("/nowhere/libcudnn.so.9", 90199) == "/nowhere/libcudnn.so.9");
}

TEST_CASE("A command is split and joined, also in the order of older reports", "[reproduce]") {
  const std::string command = "attnprobe --heads 8 --quick --target 'a b.json' --cudnn 9.19.0";
  const auto parts = parts_of_command(command);
  REQUIRE(parts);
  CHECK(parts->question == "attnprobe --heads 8 --quick");
  CHECK(parts->target == "'a b.json'");
  CHECK(parts->cudnn == "9.19.0");
  CHECK(joined_command(*parts) == command);
  const auto older = parts_of_command("attnprobe --heads 8 --target h200 --mode A --quick --cudnn /usr/lib/x.so");
  REQUIRE(older);
  CHECK(joined_command(*older) == "attnprobe --heads 8 --mode A --quick --target h200 --cudnn /usr/lib/x.so");
  CHECK_FALSE(parts_of_command("attnprobe --heads 8"));
}

TEST_CASE("Report, cells and page give the same command", "[reproduce]") {
  const TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder.path() / name).string(); };
  std::ofstream(path("m.json")) << R"({"name": "one", "heads": 8, "seqlen": 256, "head_dim": 64})";
  const Run run = run_attnprobe("matrix " + path("m.json") + " --target h200 --mode A --no-cache --out " + path("out"));
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  const report::CellTable table = report::load_cells(path("out"));
  const std::string command = report::reproduce_command(table, table.cells.at(0));
  CHECK_THAT(command, ContainsSubstring("--head-dim 64 --mode A --quick --target h200 --cudnn 9."));
  CHECK(Json::parse(read_text(path("out/report.json")))["results"][0]["reproduce"] == command);
  CHECK(reproduce(question + " --name one --mode A --quick --target h200") == command);
  const std::string page = read_text(path("out/index.html"));
  CHECK_THAT(page, ContainsSubstring("\"command\":\"" + command.substr(0, command.find(" --target ")) + "\""));
  CHECK_THAT(page, ContainsSubstring("\"word\":\"h200\""));
}

}  // namespace attnprobe::test::reproduce_test
