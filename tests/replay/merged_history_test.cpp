// Several logs as one: equal graphs occur once, with each place.
#include "replay/merged_history.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "replay/logged_graph.hpp"
#include "replay/replay.hpp"
#include "support.hpp"

namespace attnprobe::test::merged_history_test {

using namespace attnprobe::replay;

namespace {

LogHistory history_of(const std::string& fixture) {
  LogReader reader;
  reader.feed(unpacked_fixture("logs/frameworks/" + fixture));
  return reader.finish();
}

}  // namespace

TEST_CASE("equal graphs of two processes are merged and their counts added", "[replay]") {
  MergedHistory merged;
  merged.add(history_of("pytorch-train-gqa-bf16.log.xz"), 11, "process 11");
  merged.add(history_of("pytorch-train-dropout-bf16.log.xz"), 12, "process 12");
  merged.add(history_of("pytorch-train-gqa-bf16.log.xz"), 13, "process 13");
  REQUIRE(merged.history.graphs.size() == 4);
  const auto& graph = merged.history.graphs[0];
  CHECK(graph.finalized == 2);
  CHECK(graph.file == "process 11");
  REQUIRE(graph.executed.size() == 1);
  CHECK(graph.executed[0].times == 2);
  CHECK(merged.sources[0] == std::vector<int64_t>{11, 13});
  CHECK(merged.sources[2] == std::vector<int64_t>{12});
  // No finding of the walk is duplicated.
  CHECK(graph.findings.engine_configs.size() ==
        history_of("pytorch-train-gqa-bf16.log.xz").graphs[0].findings.engine_configs.size());
}

TEST_CASE("an engine config rejected in one process and accepted in another works", "[replay]") {
  const log::EngineConfigLog config{4, 900, {{"KERNEL_CFG", 7}}, {}};
  LoggedGraph refused, works;
  note_check(refused, config, "CUDNN_STATUS_NOT_SUPPORTED", {{"CUDNN_STATUS_NOT_SUPPORTED", "too long"}});
  note_check(works, config, "CUDNN_STATUS_SUCCESS", {});
  note_plan(works, config, "CUDNN_STATUS_SUCCESS", {});
  LoggedGraph both = refused;
  merge(both, works);
  CHECK(both.works());
  REQUIRE(both.findings.engine_configs.size() == 1);
  CHECK(both.findings.engine_configs[0].check.supported);
}

TEST_CASE("replay accepts several logs and folders of logs, each distinct graph once", "[replay]") {
  const std::string logs = "tests/fixtures/logs/frameworks/";
  const std::string gqa = logs + "pytorch-train-gqa-bf16.log.xz", dropout = logs + "pytorch-train-dropout-bf16.log.xz";
  const TemporaryFolder folder;
  const std::filesystem::path place = folder.path() / "logs of a run";
  std::filesystem::create_directory(place);
  std::filesystem::copy(source_dir() / gqa, place / "cudnn-1.log.xz");
  std::filesystem::copy(source_dir() / gqa, place / "cudnn-2.log.xz");
  std::filesystem::copy(source_dir() / dropout, place / "cudnn-3.log.xz");
  std::ofstream(place / "cudnn-4.log") << "";
  std::ofstream(place / "broken.log.gz") << "\x1f\x8b and no more";
  std::ofstream(place / "checkpoint.bin") << "not a log";

  const Run run = run_attnprobe("replay '" + place.string() + "' --list");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK_THAT(run.out, ContainsSubstring("4 operation graphs"));
  CHECK_THAT(run.out, ContainsSubstring("broken.log.gz: its gzip data is broken"));
  CHECK_THAT(run.out, ContainsSubstring("cudnn-1.log.xz, line "));
  CHECK_THAT(run.out, ContainsSubstring("cudnn-3.log.xz, line "));
  CHECK_THAT(run.out, !ContainsSubstring("cudnn-2.log.xz"));
  CHECK_THAT(run.out, ContainsSubstring("executed 2 times"));

  // In the command that repeats the question, the graph's number means the same graph.
  const Json two =
      run_attnprobe(fmt::format("replay {} {} --graph 3 --target t4 --mode A --format json", gqa, dropout)).json();
  REQUIRE(two["results"].size() == 1);
  CHECK(two["replay"]["graphs"][0]["file"] == dropout);
  CHECK_THAT(two["results"][0]["reproduce"].get<std::string>(),
             StartsWith(fmt::format("attnprobe replay {} {} --graph 3 ", gqa, dropout)));

  CHECK_THAT(run_attnprobe("replay /nowhere.log " + gqa + " --list").err,
             ContainsSubstring("/nowhere.log: cannot be opened"));
  const TemporaryFolder empty;
  CHECK_THAT(run_attnprobe("replay " + empty.path().string()).err,
             ContainsSubstring("the folder has no log; allowed: *.log, *.log.gz and *.log.xz"));
}

}  // namespace attnprobe::test::merged_history_test
