// The commands replay and explain, on real logs of PyTorch and JAX and on logs that cuDNN writes during the tests.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "catch.hpp"
#include "replay/explanation.hpp"
#include "replay/replay.hpp"
#include "support.hpp"

namespace attnprobe::test::replay_test {

namespace {

const std::string logs = "tests/fixtures/logs/";
const std::string pytorch = logs + "pytorch-2.11-cudnn-9.19-fprop-causal-f16.log.xz";
const std::string decode = logs + "pytorch-2.11-cudnn-9.19-decode-bf16.log.xz";
const std::string jax = logs + "jax-0.11-cudnn-9.19-fprop-causal-f16.log.xz";

// cuDNN's own log of these configs, and the configs.
struct Written {
  replay::Replay replay;
  std::set<std::string> hashes;      // of the finalized graphs
  std::vector<std::string> configs;  // the files' content
};

Written write_log(const std::string& gpu, const std::vector<std::string>& features) {
  const TemporaryFolder folder;
  const std::string log = (folder.path() / "cudnn.log").string();
  Written written;
  std::string files;
  for (const auto& name : features) {
    files += fmt::format(" configs/features/{}.json", name);
    written.configs.push_back(read_text(source_dir() / fmt::format("configs/features/{}.json", name)));
  }
  const Run run = shell(
      fmt::format("{} --target {} {} {}/written.jsonl{}", ATTNPROBE_TEST_LOG_WRITER, gpu, cudnn_path(),
                  folder.path().string(), files),
      {{"CUDNN_LOGLEVEL_DBG", "3"}, {"CUDNN_LOGDEST_DBG", log}, {"ATTNPROBE_NULL_DRIVER", ATTNPROBE_TEST_NULL_DRIVER}});
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  std::ifstream lines(folder.path() / "written.jsonl");
  for (std::string line; std::getline(lines, line);)
    if (const Json entry = Json::parse(line); entry["status"] == "finalized") written.hashes.insert(entry["hash"]);
  written.replay = replay::read_replay(log);
  return written;
}

// Checks that every graph of the log is recognised and gets the log's answer. Returns their descriptions.
std::vector<std::string> check_agrees(const std::string& log) {
  INFO(log);
  const Run run = run_attnprobe("replay " + log + " --target h200 --quick --format json");
  REQUIRE(run.exit_code == 0);
  const Json report = run.json();
  const Json& graphs = report["replay"]["graphs"];
  REQUIRE(!graphs.empty());
  REQUIRE(report["results"].size() == graphs.size());
  std::vector<std::string> descriptions;
  for (size_t i = 0; i < graphs.size(); ++i) {
    const Json &graph = graphs[i], &result = report["results"][i];
    descriptions.push_back(graph["description"]);
    INFO(descriptions.back());
    REQUIRE(graph["agreements"].size() == 1);
    CHECK(graph["agreements"][0]["compared"] == true);
    CHECK(graph["agreements"][0]["differences"].dump() == "[]");
    CHECK(result["verdict"] == "supported");
    CHECK(result["graph"]["hash"] == graph["hash"]);
    CHECK(result["given"]["recognised"] == true);
  }
  return descriptions;
}

}  // namespace

TEST_CASE("the logs of PyTorch and JAX replay identically: candidates, engines, knobs, reasons", "[replay]") {
  for (const auto& log : {pytorch, decode, jax}) check_agrees(log);
}

TEST_CASE("logs of PyTorch and JAX on an H200 replay identically, with every graph recognised", "[replay]") {
  using Descriptions = std::vector<std::string>;
  const std::map<std::string, Descriptions> logs_of_frameworks{
      {"pytorch-bias-f16", {"sdpa_composite fprop b2 h8 s512 d64 f16 bshd bias bhss"}},
      {"pytorch-train-bias-broadcast-bf16",
       {"sdpa_composite fprop_train b2 h8 s512 d64 bf16 bshd bias b1ss",
        "sdpa_composite bprop b2 h8 s512 d64 bf16 bshd bias b1ss"}},
      {"pytorch-cross-attention-f16", {"sdpa_unified fprop b2 h10 s4096/77 d64 f16 bshd"}},
      {"pytorch-mla-bf16", {"sdpa_composite fprop b1 h16 s512 d192/128 bf16 bshd causal"}},
      {"pytorch-nested-f16", {"sdpa_unified fprop b3 h8 s512 d64 f16 thd strided padding"}},
      {"pytorch-odd-shapes-f16", {"sdpa_unified fprop b3 h5 s333/257 d80 f16 bshd"}},
      {"pytorch-packed-projection-f16", {"sdpa_unified fprop b2 h12 s512 d64 f16 bs3hd"}},
      {"pytorch-decode-gqa-f16", {"sdpa_unified fprop b8 h32/8 s1/4000 d128 f16 bshd"}},
      {"pytorch-train-dropout-bf16",
       {"sdpa_composite fprop_train b2 h8 s512 d128 bf16 bshd dropout",
        "sdpa_composite bprop b2 h8 s512 d128 bf16 bshd dropout"}},
      {"pytorch-train-gqa-bf16",
       {"sdpa_composite fprop_train b2 h16/4 s1024 d128 bf16 bshd causal",
        "sdpa_composite bprop b2 h16/4 s1024 d128 bf16 bshd causal"}},
      {"jax-train-bias-f16",
       {"sdpa_composite fprop_train b2 h8 s512 d64 f16 bshd bias 1hss",
        "sdpa_composite bprop b2 h8 s512 d64 f16 bshd bias 1hss dbias"}},
      {"jax-train-dropout-bf16",
       {"sdpa_composite fprop_train b2 h8 s512 d64 bf16 bshd dropout",
        "sdpa_composite bprop b2 h8 s512 d64 bf16 bshd dropout"}},
      {"jax-train-padding-bf16",
       {"sdpa_composite fprop_train b2 h8 s512 d64 bf16 bshd padding",
        "sdpa_composite bprop b2 h8 s512 d64 bf16 bshd padding after_stats"}},
      {"jax-train-packed-bf16",
       {"sdpa_composite fprop_train b4 h8 s512 d64 bf16 thd padding",
        "sdpa_composite bprop b4 h8 s512 d64 bf16 thd padding after_stats"}},
      {"jax-paged-bf16", {"sdpa_composite fprop b2 h8 s1/1024 d128 bf16 bshd padding paged 64"}},
      {"jax-window-bf16", {"sdpa_composite fprop b1 h8 s2048 d128 bf16 bshd causal, left window of unknown size"}},
      {"jax-odd-shapes-f16", {"sdpa_composite fprop b3 h5 s333/257 d80 f16 bshd"}}};
  for (const auto& [name, expected] : logs_of_frameworks)
    CHECK(check_agrees(logs + "frameworks/" + name + ".log.xz") == expected);
}

TEST_CASE("a refusal by cudnn-frontend is not in cuDNN's log: replay lists candidates, explain names the rule",
          "[replay][explain]") {
  const std::map<std::string, std::string> rules{{"pytorch-refused-head-dim-20", "head_dim_8"},
                                                 {"pytorch-refused-heads", "heads"},
                                                 {"pytorch-refused-inner-stride", "stride"}};
  const Json cases = Json::parse(read_text(source_dir() / (logs + "frameworks/cases.json")));
  size_t found = 0;
  for (const Json& one : cases) {
    const auto rule = rules.find(one["name"]);
    if (rule == rules.end()) continue;
    ++found;
    const Run replayed = run_attnprobe(fmt::format("replay {}frameworks/{}.log.xz --list", logs, rule->first));
    CHECK(replayed.exit_code == 2);
    CHECK_THAT(replayed.err, ContainsSubstring("Either the call was refused before cuDNN was asked, or the log is "
                                               "incomplete. The program's exception shows which"));
    const Run run = run_attnprobe("explain - --format json", {}, one["exception"].get<std::string>() + "\n");
    REQUIRE(run.exit_code == 0);
    REQUIRE(run.json()["frontend_refusals"].size() == 1);
    CHECK(run.json()["frontend_refusals"][0]["id"] == rule->second);
  }
  CHECK(found == rules.size());
}

TEST_CASE("without --target, replay asks about the log's own GPU", "[replay]") {
  const Run run = run_attnprobe("replay " + pytorch + " --mode A", {{"CUDA_VISIBLE_DEVICES", ""}});
  CHECK(run.exit_code == 0);
  CHECK(contains(run.out, " on NVIDIA H200 SXM 141GB (sm_90, simulated)\n"));
  CHECK(contains(run.out, "graph 1 on h200: as in the log, engine by engine and reason by reason"));
}

TEST_CASE("a replay for another GPU states why it is not compared, and advises as for a config", "[replay]") {
  const Run run = run_attnprobe("replay " + pytorch + " --target l40s,t4 --mode A -v");
  CHECK(run.exit_code == 1);  // a T4 has no attention
  CHECK(contains(run.out, "graph 1 on l40s: not compared with the log: the log is of NVIDIA H200"));
  CHECK(contains(run.out, "the same graph is supported on l40s"));
  CHECK(contains(run.out, fmt::format("reproduce: attnprobe replay {} --graph 1 --mode A --target t4", pytorch)));
}

TEST_CASE("replay --list shows the log's contents without any cuDNN", "[replay]") {
  const Environment none{{"ATTNPROBE_CUDNN", "/nowhere/libcudnn.so.9"}};
  const Run run = run_attnprobe("replay " + pytorch + " --list", none);
  CHECK(run.exit_code == 0);
  for (const char* part :
       {"1 operation graph in 1385 entries of cuDNN's log", "1. sdpa_composite fprop b4 h12 s1024 d64 f16 bshd causal",
        "line 9618, cuDNN 9.19.0, NVIDIA H200 (sm_90)", "mode A proposed 5 engine configs, 4 viable",
        "engine 2 KERNEL_CFG=32  rejected: CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT",
        "engine 2 KERNEL_CFG=7   executed once",
        "the same graph: attnprobe --pattern sdpa_composite --batch 4 --heads 12 --seqlen 1024",
        "- scale: the graph does not contain its value"})
    CHECK_THAT(run.out, ContainsSubstring(part));
  const Json json = run_attnprobe("replay " + decode + " --list --format json", none).json();
  CHECK(json["graphs"][0]["description"] == "sdpa_unified fprop b8 h32 s1/4096 d128 bf16 bshd");
  CHECK(json["graphs"][0]["modes"][0]["viable"] == 2);
}

TEST_CASE("the report of a replay validates against the schema", "[replay]") {
  const TemporaryFolder folder;
  const std::string report = (folder.path() / "report.json").string(),
                    schema = (folder.path() / "schema.json").string();
  REQUIRE(
      run_attnprobe(fmt::format("replay {} --target h200,t4 --quick --format json -o {}", decode, report)).exit_code ==
      1);
  REQUIRE(shell(fmt::format("{} schema report > {}", program(), schema)).exit_code == 0);
  const Run run = validate(schema, report);
  INFO(run.err);
  CHECK(run.exit_code == 0);
  CHECK(Json::parse(read_text(report))["replay"]["graphs"][0]["agreements"].size() == 2);
}

TEST_CASE("replay --to-config writes a config with the log's graph hash", "[replay]") {
  const TemporaryFolder folder;
  for (const auto& log : {pytorch, decode, jax}) {
    const std::string config = (folder.path() / "config.json").string();
    REQUIRE(run_attnprobe(fmt::format("replay {} --to-config -o {}", log, config)).exit_code == 0);
    const Json built = run_attnprobe(fmt::format("--config {} --dump-graph json", config)).json();
    const Json list = run_attnprobe("replay " + log + " --list --format json").json();
    CHECK(built["hash"] == list["graphs"][0]["hash"]);
  }
}

TEST_CASE("replay --to-config names the file if no config builds its graph", "[replay]") {
  const std::string log = "tests/fixtures/frontend-graphs.jsonl.xz";
  const Run run = run_attnprobe("replay " + log + " --to-config -o /dev/null");
  INFO(run.err);
  for (size_t at = 0; (at = run.err.find(" cannot be expressed as a config", at)) != std::string::npos; ++at)
    CHECK(contains(run.err.substr(run.err.rfind('\n', at) + 1, at), log + ": graph "));
}

TEST_CASE("replay --dump-graph gives a graph with recognised names that can be replayed", "[replay]") {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "graph.json").string();
  REQUIRE(run_attnprobe(fmt::format("replay {} --dump-graph json -o {}", pytorch, file)).exit_code == 0);
  const Json graph = Json::parse(read_text(file));
  CHECK(graph["tensors"][0]["name"] == "Q");
  const Json again = run_attnprobe("replay " + file + " --list --format json").json();
  CHECK(again["graphs"][0]["hash"] == graph["hash"]);
  CHECK(contains(run_attnprobe("replay " + pytorch + " --dump-graph dot").out, "digraph"));
}

TEST_CASE("cuDNN's log of attnprobe's own graphs replays to identical hashes", "[replay]") {
  const Written written =
      write_log("h200", {"backward", "dropout", "fp8", "legacy", "masks", "ragged-and-paged", "scores"});
  REQUIRE(written.hashes.size() > 80);
  std::set<std::string> found;
  for (const auto& graph : written.replay.graphs) {
    if (!graph.logged.imported) continue;
    found.insert(graph.logged.hash);
    INFO(graph.recognised.description);
    CHECK(graph.logged.imported->missing.empty());
    CHECK(graph.recognised.exact);
    CHECK(graph.logged.findings.modes.size() == 3);
  }
  CHECK(found == written.hashes);
}

TEST_CASE("explain finds the probe's cause from only the log", "[explain][slow]") {
  size_t refused = 0;
  for (const char* gpu : {"l40s", "b200", "t4"}) {
    const Written written = write_log(gpu, {"fp8", "heads-and-dims", "legacy", "ragged-and-paged"});
    probe::WalkOptions quick;
    quick.sweep_where_none = false;
    std::map<std::string, answer::Answer> probed;  // by the graph's hash
    for (const auto& config : written.configs)
      for (auto& result : probe_all(config, gpu, quick)) probed[hash(result.graph.graph)] = std::move(result);
    for (const auto& graph : written.replay.graphs) {
      if (!graph.logged.imported || probed.count(graph.logged.hash) == 0) continue;
      const answer::Answer& result = probed.at(graph.logged.hash);
      const auto explanation = replay::explain(graph.logged, graph.recognised);
      INFO(gpu << ": " << graph.recognised.description);
      // The log's program asked only the heuristics; the probe also asks cudnn-frontend's own choice.
      const auto& modes = result.findings.modes;
      CHECK(explanation.works == std::any_of(modes.begin(), modes.end(), [](const auto& mode) {
              return mode.mode != "FRONTEND" && mode.viable > 0;
            }));
      if (result.verdict != answer::Verdict::unsupported) continue;
      ++refused;
      REQUIRE(explanation.cause);
      CHECK(explanation.cause->category == result.root_cause->category);
      CHECK(explanation.cause->reason == result.root_cause->reason);
      CHECK(explanation.cause->engine == result.root_cause->engine);
      CHECK(replay::compare(graph, result).differences.empty());
    }
  }
  CHECK(refused > 60);
}

TEST_CASE("cudnn-frontend's JSON is replayed: as a file, as a line of a log, serialized", "[replay]") {
  const TemporaryFolder folder;
  std::istringstream lines(unpacked_fixture("frontend-graphs.jsonl.xz"));
  int documents = 0, serialized = 0;
  for (std::string text; std::getline(lines, text) && (documents < 5 || serialized < 1);) {
    const Json line = Json::parse(text);
    if (!line.contains("hash") || (documents >= 5 && !line.contains("serialized"))) continue;
    INFO(line["name"]);
    const std::string file = (folder.path() / "graph").string();
    std::ofstream(file) << line["frontend"].dump(2);
    const replay::Replay document = replay::read_replay(file);
    std::ofstream(file) << "[cudnn_frontend] INFO: " << line["frontend"].dump() << "\nand so on\n";
    const replay::Replay log = replay::read_replay(file);
    for (const auto* replay : {&document, &log}) {
      REQUIRE(replay->graphs.size() == 1);
      CHECK(replay->graphs[0].is_frontend);
      const answer::Question question = question_of(*replay, replay->graphs[0]);
      CHECK(hash(build::build_graph(question.config.spec, {91900, line["sm"].get<int>()}).graph) ==
            line["hash"].get<std::string>());
    }
    ++documents;
    if (!line.contains("serialized")) continue;
    const std::string digits = line["serialized"];
    std::string bytes;
    for (size_t i = 0; i + 1 < digits.size(); i += 2)
      bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
    std::ofstream(file, std::ios::binary) << bytes;
    const replay::Replay stored = replay::read_replay(file);
    REQUIRE(stored.graphs.size() == 1);
    CHECK(stored.graphs[0].logged.hash == line["hash"].get<std::string>());
    CHECK(stored.graphs[0].recognised.exact);
    ++serialized;
  }
  CHECK(documents >= 5);
  CHECK(serialized == 1);
}

TEST_CASE("explain: a refused graph is explained from the text only", "[explain]") {
  const Run run = run_attnprobe("explain - -v", {}, fixture("forum-318288.txt"));
  CHECK(run.exit_code == 0);
  for (const char* part : {"standard input: 1 graph, 1 refused", "root cause: multi_gemm (engine 7 came furthest)",
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

TEST_CASE("explain: an unknown reason is shown verbatim and called unknown", "[explain]") {
  const Run run = run_attnprobe("explain -", {},
                                "engineConfig: type=json; val={\"engineId\":3,\"smVersion\":900,\"knobChoices\":{}};\n"
                                "Warning: CUDNN_STATUS_NOT_SUPPORTED; Reason: the moon is not full at: moon != full\n");
  CHECK_THAT(run.out, ContainsSubstring("CUDNN_STATUS_NOT_SUPPORTED: the moon is not full at: moon != full"));
  CHECK_THAT(run.out, ContainsSubstring("root cause: unknown (engine 3 came furthest)"));
}

TEST_CASE("explain: facts missing from a pasted error stack are omitted", "[explain]") {
  const Run run =
      run_attnprobe("explain -", {}, "Error: CUDNN_STATUS_BAD_PARAM; Reason: the moon is not full at: moon != full\n");
  CHECK_THAT(run.out, ContainsSubstring("cuDNN refuses the graph itself: cuDNN logged CUDNN_STATUS_BAD_PARAM"));
  CHECK_FALSE(contains(run.out, "at ?"));
  CHECK_FALSE(contains(run.out, "BACKEND_?_DESCRIPTOR"));
}

TEST_CASE("explain: an exception's text suffices to name who refused and the next step", "[explain]") {
  const Run run = run_attnprobe("explain -", {},
                                "RuntimeError: cuDNN Frontend error: [cudnn_frontend] Error: No execution plans "
                                "support the graph.\n");
  CHECK(run.exit_code == 0);
  CHECK_THAT(run.out, StartsWith("cuDNN's engines refused, at the support check"));
  CHECK_THAT(run.out, ContainsSubstring("No execution plans support the"));
  CHECK_THAT(run.out, ContainsSubstring("next: attnprobe explain fe-no-plans-support"));
}

TEST_CASE("files without a graph are usage errors that explain how to get a log", "[replay]") {
  const TemporaryFolder folder;
  const auto file = [&](const char* name, const std::string& text) {
    std::ofstream(folder.path() / name, std::ios::binary) << text;
    return (folder.path() / name).string();
  };
  const std::pair<std::string, const char*> cases[] = {
      {"/nowhere.log", "/nowhere.log: cannot be opened"},
      {file("text.log", "epoch 1\nepoch 2\n"), "no output of cuDNN or cudnn-frontend found in it"},
      {file("low.log", "W! CuDNN (v91900 56) function cudnnCreate() called:\nw!     Warning: x\n"),
       "the log level was too low"},
      {file("empty.log", ""), "no output of cuDNN or cudnn-frontend found in it"},
      {file("broken.json", "{\"operationGraph\": {\"tensors\": [{\"name\": \"x\"}], \"nodes\": []}}"),
       "operationGraph/tensors/0/name: \"x\" is not a tensor's name, which is its uid"},
      {file("version.json", R"({"operationGraph": {}, "cudnnVersion": "9"})"),
       "version.json: cuDNN's JSON: /cudnnVersion: \"9\" is not an integer"},
      {file("own.json", R"({"tensors": 3, "operations": []})"),
       "own.json: operation graph: /tensors: 3 is not an array"}};
  for (const auto& [name, message] : cases) {
    const Run run = run_attnprobe("replay " + name + " --list");
    INFO(name);
    CHECK(run.exit_code == 2);
    CHECK_THAT(run.err, ContainsSubstring(message));
  }
  CHECK_THAT(run_attnprobe("replay " + pytorch + " --graph 2").err,
             ContainsSubstring("--graph: \"2\" is not the number of a graph here; allowed: 1 to 1"));
}

TEST_CASE("a damaged line of cudnn-frontend's JSON is skipped and named", "[replay]") {
  std::istringstream lines(unpacked_fixture("frontend-graphs.jsonl.xz"));
  std::vector<std::string> graphs;
  for (std::string text; std::getline(lines, text) && graphs.size() < 40;)
    graphs.push_back(Json::parse(text)["frontend"].dump());
  const TemporaryFolder folder;
  std::mt19937 random(14);
  const auto below = [&](size_t count) { return static_cast<size_t>(random() % count); };
  size_t damaged = 0, unread = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string& good = graphs[below(graphs.size())];
    std::string bad = graphs[below(graphs.size())];
    for (size_t change = 0; change <= below(3); ++change) {
      const size_t at = below(bad.size() - 50) + 12;  // after the words that identify a graph
      switch (below(4)) {
        case 0:
          bad[at] = static_cast<char>(random());
          break;
        case 1:
          bad[at] = "0123456789-e.nul\"{}[],:"[below(23)];
          break;
        case 2:
          bad.erase(at, 1 + below(30));
          break;
        default:
          bad.insert(at, bad.substr(below(bad.size()), 1 + below(40)));
      }
    }
    if (bad.find_first_of(std::string("\n\0", 2)) != std::string::npos) continue;
    const std::string file = folder.file("a.log", "one\n" + bad + "\n" + good + "\n").string();
    INFO(bad);
    const replay::Replay read = replay::read_replay(file);
    ++damaged;
    bool has_good = false;
    for (const auto& graph : read.graphs) {
      has_good =
          has_good || graph.logged.imported || graph.recognised.spec || contains(graph.logged.problem, "no attention");
      if (graph.logged.problem.empty() || contains(graph.logged.problem, "no attention")) continue;
      ++unread;
      CHECK_THAT(graph.logged.problem, StartsWith("line 2: "));
    }
    CHECK(has_good);
    if (read.graphs.size() == 1 && bad != good)
      for (const auto& problem : read.history.problems) {
        ++unread;
        CHECK(problem == "line 2: the JSON of cudnn-frontend is cut off or broken");
      }
  }
  CHECK(damaged > 250);
  CHECK(unread > 100);
}

}  // namespace attnprobe::test::replay_test
