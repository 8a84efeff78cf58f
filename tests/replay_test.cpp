// The commands replay and explain, on real logs of PyTorch and JAX and on logs that cuDNN writes here.
#include <fmt/format.h>

#include <set>

#include "attnprobe/graph/import.hpp"
#include "attnprobe/worker/replay.hpp"
#include "catch.hpp"
#include "support.hpp"

using namespace attnprobe;
using namespace attnprobe::test;

namespace {

const std::string logs = "tests/fixtures/logs/";
const std::string pytorch = logs + "pytorch-2.11-cudnn-9.19-fprop-causal-f16.log.xz";
const std::string decode = logs + "pytorch-2.11-cudnn-9.19-decode-bf16.log.xz";
const std::string jax = logs + "jax-0.11-cudnn-9.19-fprop-causal-f16.log.xz";

// What is wrong with the graph of the log when it is asked again.
void check_agrees(const std::string& log) {
  INFO(log);
  const Run run = run_attnprobe("replay " + log + " --target h200 --format json");
  REQUIRE(run.exit_code == 0);
  const Json report = run.json();
  REQUIRE(report["replay"]["graphs"].size() == 1);
  const Json& graph = report["replay"]["graphs"][0];
  REQUIRE(graph["agreements"].size() == 1);
  CHECK(graph["agreements"][0]["compared"] == true);
  CHECK(graph["agreements"][0]["differences"].dump() == "[]");
  const Json& result = report["results"][0];
  CHECK(result["verdict"] == "supported");
  CHECK(result["graph"]["hash"] == graph["hash"]);
  CHECK(result["given"]["recognised"] == true);
}

}  // namespace

TEST_CASE("the logs of PyTorch and JAX replay as they were: candidates, engines, knobs, reasons",
          "[replay]") {
  for (const auto& log : {pytorch, decode, jax}) check_agrees(log);
}

TEST_CASE("without --target a replay asks about the log's own GPU", "[replay]") {
  const Run run = run_attnprobe("replay " + pytorch + " --mode A", {{"CUDA_VISIBLE_DEVICES", ""}});
  CHECK(run.exit_code == 0);
  CHECK(contains(run.out, "on NVIDIA H200 SXM 141GB (sm_90, simulated): supported"));
  CHECK(contains(run.out, "graph 1 on h200: as in the log, engine by engine and reason by reason"));
}

TEST_CASE("a replay elsewhere says why it is not compared, and advises as for a config", "[replay]") {
  const Run run = run_attnprobe("replay " + pytorch + " --target l40s,t4 --mode A");
  CHECK(run.exit_code == 1);  // a T4 has no attention
  CHECK(contains(run.out, "graph 1 on l40s: not compared with the log: the log is of NVIDIA H200"));
  CHECK(contains(run.out, "the same graph is supported on l40s"));
  CHECK(contains(run.out, fmt::format("reproduce: attnprobe replay {} --graph 1 --target t4", pytorch)));
}

TEST_CASE("replay --list shows what the log shows, without any cuDNN", "[replay]") {
  const Environment none{{"ATTNPROBE_CUDNN", "/nowhere/libcudnn.so.9"}};
  const Run run = run_attnprobe("replay " + pytorch + " --list", none);
  CHECK(run.exit_code == 0);
  for (const char* part :
       {"1 operation graph in 1385 entries of cuDNN's log",
        "1. sdpa_composite fprop b4 h12 s1024 d64 f16 bshd causal",
        "line 9618, cuDNN 9.19.0, NVIDIA H200 (sm_90)", "mode A proposed 5 engine configs, 4 viable",
        "engine 2 KERNEL_CFG=32  fell out: CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT",
        "engine 2 KERNEL_CFG=7   executed once",
        "the same graph: attnprobe --pattern sdpa_composite --pass fprop --batch 4",
        "- scale: the graph does not hold its value"})
    CHECK_THAT(run.out, ContainsSubstring(part));
  const Json json = run_attnprobe("replay " + decode + " --list --format json", none).json();
  CHECK(json["graphs"][0]["description"] == "sdpa_unified fprop b8 h32 s1/4096 d128 bf16 bshd");
  CHECK(json["graphs"][0]["modes"][0]["viable"] == 2);
}

TEST_CASE("replay --to-config gives a config whose graph has the log's hash", "[replay]") {
  const TemporaryFolder folder;
  for (const auto& log : {pytorch, decode, jax}) {
    const std::string config = (folder.path() / "config.json").string();
    REQUIRE(run_attnprobe(fmt::format("replay {} --to-config -o {}", log, config)).exit_code == 0);
    const Json built = run_attnprobe(fmt::format("--config {} --dump-graph json", config)).json();
    const Json list = run_attnprobe("replay " + log + " --list --format json").json();
    CHECK(built["hash"] == list["graphs"][0]["hash"]);
  }
}

TEST_CASE(
    "replay --dump-graph gives the graph with the names that it was recognised by, and is replayed itself",
    "[replay]") {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "graph.json").string();
  REQUIRE(run_attnprobe(fmt::format("replay {} --dump-graph json -o {}", pytorch, file)).exit_code == 0);
  const Json graph = Json::parse(read_text(file));
  CHECK(graph["tensors"][0]["name"] == "Q");
  const Json again = run_attnprobe("replay " + file + " --list --format json").json();
  CHECK(again["graphs"][0]["hash"] == graph["hash"]);
  CHECK(contains(run_attnprobe("replay " + pytorch + " --dump-graph dot").out, "digraph"));
}

TEST_CASE("a log that cuDNN writes of attnprobe's own graphs replays to the identical hashes", "[replay]") {
  const TemporaryFolder folder;
  const std::string log = (folder.path() / "cudnn.log").string();
  std::string configs;
  for (const char* name : {"backward", "dropout", "fp8", "legacy", "masks", "ragged-and-paged", "scores"})
    configs += fmt::format(" configs/features/{}.json", name);
  const Run written = shell(fmt::format("{} {} {}/written.jsonl{}", ATTNPROBE_TEST_LOG_WRITER, cudnn_path(),
                                        folder.path().string(), configs),
                            {{"CUDNN_LOGLEVEL_DBG", "3"}, {"CUDNN_LOGDEST_DBG", log}});
  INFO(written.err);
  REQUIRE(written.exit_code == 0);
  std::set<std::string> hashes;
  std::ifstream lines(folder.path() / "written.jsonl");
  for (std::string line; std::getline(lines, line);)
    if (const Json entry = Json::parse(line); entry["status"] == "finalized") hashes.insert(entry["hash"]);
  REQUIRE(hashes.size() > 80);
  const worker::Replay replay = worker::read_replay(log);
  std::set<std::string> found;
  for (const auto& graph : replay.graphs) {
    if (!graph.logged.imported) continue;
    found.insert(graph.logged.hash);
    INFO(graph.recognised.description);
    CHECK(graph.logged.imported->missing.empty());
    CHECK(graph.recognised.exact);
    CHECK(!graph.logged.findings.modes.empty());
  }
  CHECK(found == hashes);
}

TEST_CASE("explain: a refused graph, from the text alone", "[explain]") {
  const Run run = run_attnprobe("explain -", {}, fixture("forum-318288.txt"));
  CHECK(run.exit_code == 0);
  for (const char* part :
       {"standard input: 1 graph, 1 refused", "root cause: multi_gemm (engine 7 came furthest)",
        "Multi-GEMM is only supported on Hopper", "CUDNN_LOGLEVEL_DBG=3"})
    CHECK_THAT(run.out, ContainsSubstring(part));
  const Json json = run_attnprobe("explain - --format json", {}, fixture("forum-318288.txt")).json();
  CHECK(json["graphs"][0]["verdict"] == "refused");
  CHECK(json["graphs"][0]["root_cause"]["category"] == "multi_gemm");
  CHECK(json["graphs"][0]["reasons"][0]["engines"] == Json{"engine 7 KERNEL_CFG=25"});
}

TEST_CASE("explain: a graph that works is one line", "[explain]") {
  const Run run = run_attnprobe("explain " + pytorch);
  CHECK(run.exit_code == 0);
  CHECK_THAT(run.out, ContainsSubstring("works by cuDNN 9.19.0 on NVIDIA H200 (line 9618)"));
  CHECK_THAT(run.out, ContainsSubstring("viable: engine 2 KERNEL_CFG=7, engine 1 KERNEL_CFG=6"));
}

TEST_CASE("explain: an unknown reason is shown as it is and called unknown", "[explain]") {
  const Run run =
      run_attnprobe("explain -", {},
                    "engineConfig: type=json; val={\"engineId\":3,\"smVersion\":900,\"knobChoices\":{}};\n"
                    "Warning: CUDNN_STATUS_NOT_SUPPORTED; Reason: the moon is not full at: moon != full\n");
  CHECK_THAT(run.out, ContainsSubstring("CUDNN_STATUS_NOT_SUPPORTED: the moon is not full at: moon != full"));
  CHECK_THAT(run.out, ContainsSubstring("(unknown: not in attnprobe's catalogue of reasons)"));
}

TEST_CASE("explain: an exception's text alone says what to do for more", "[explain]") {
  const Run run =
      run_attnprobe("explain -", {},
                    "RuntimeError: cuDNN Frontend error: [cudnn_frontend] Error: No execution plans "
                    "support the graph.\n");
  CHECK(run.exit_code == 0);
  CHECK_THAT(run.out, ContainsSubstring("No execution plans support the graph"));
  CHECK_THAT(run.out, ContainsSubstring("CUDNN_LOGLEVEL_DBG=3 CUDNN_LOGDEST_DBG"));
}

TEST_CASE("files that hold no graph are usage errors that say how to get a log", "[replay]") {
  const TemporaryFolder folder;
  const auto file = [&](const char* name, const std::string& text) {
    std::ofstream(folder.path() / name, std::ios::binary) << text;
    return (folder.path() / name).string();
  };
  const std::pair<std::string, const char*> cases[] = {
      {"/nowhere.log", "/nowhere.log: cannot be opened"},
      {file("text.log", "epoch 1\nepoch 2\n"), "no entry of a cuDNN log and no graph is in it"},
      {file("low.log", "W! CuDNN (v91900 56) function cudnnCreate() called:\nw!     Warning: x\n"),
       "the log level was too low"},
      {file("empty.log", ""), "no entry of a cuDNN log"},
      {file("broken.json", "{\"operationGraph\": {\"tensors\": [{\"name\": \"x\"}], \"nodes\": []}}"),
       "operationGraph/tensors/0/name: \"x\"; allowed: a tensor's name, which is its uid"}};
  for (const auto& [name, message] : cases) {
    const Run run = run_attnprobe("replay " + name + " --list");
    INFO(name);
    CHECK(run.exit_code == 2);
    CHECK_THAT(run.err, ContainsSubstring(message));
  }
  CHECK_THAT(run_attnprobe("replay " + pytorch + " --graph 2").err,
             ContainsSubstring("--graph: \"2\" is no graph of this file; allowed: 1 to 1"));
}
