// Facts about graphs from logs: real logs of PyTorch and JAX, and a text for each special case.
#include "replay/log_history.hpp"

#include <fmt/format.h>

#include <sstream>

#include "catch.hpp"
#include "probe/walk_difference.hpp"
#include "replay/explanation.hpp"
#include "support.hpp"

namespace attnprobe::test::log_history_test {

using namespace attnprobe::probe;
using namespace attnprobe::replay;

namespace {

std::string text_of(const std::string& name) {
  return test::unpacked_fixture("logs/" + name);
}

LogHistory history_of(std::string_view text) {
  LogReader reader;
  reader.feed(text);
  return reader.finish();
}

std::string configs_text(const LoggedGraph& graph) {
  std::string text;
  for (const auto& config : graph.findings.engine_configs)
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", config_name(config.engine, config.knobs),
                        config.check.supported ? "" : " rejected");
  return text;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

const std::string pytorch = "pytorch-2.11-cudnn-9.19-fprop-causal-f16.log.xz";

}  // namespace

TEST_CASE("PyTorch's log: graph, candidates, rejections with reasons, executions", "[log]") {
  const LogHistory history = history_of(text_of(pytorch));
  REQUIRE(history.graphs.size() == 1);
  CHECK(history.versions == std::set<CudnnVersion>{91900});
  CHECK(history.problems.empty());
  CHECK(history.broken_entries == 0);
  const LoggedGraph& graph = history.graphs[0];
  REQUIRE(graph.imported);
  CHECK(graph.imported->missing.empty());
  CHECK(graph.imported->graph.operations.size() == 14);
  CHECK(graph.kind == "SDPA_FWD");
  CHECK(graph.device == "NVIDIA H200");
  CHECK(graph.sm == 90);
  CHECK(graph.finalized == 1);
  CHECK(graph.works());
  CHECK(!graph.refused());
  REQUIRE(graph.findings.modes.size() == 1);
  CHECK(graph.findings.modes[0].mode == "A");
  CHECK(graph.findings.modes[0].candidates == 5);
  CHECK(graph.findings.modes[0].viable == 4);
  CHECK(configs_text(graph) ==
        "engine 2 KERNEL_CFG=32 rejected, engine 2 KERNEL_CFG=7, engine 1 KERNEL_CFG=6, engine 1 KERNEL_CFG=5, engine "
        "1 KERNEL_CFG=3");
  const auto& fallen = graph.findings.engine_configs[0];
  CHECK(fallen.check.status == "CUDNN_STATUS_NOT_SUPPORTED");
  CHECK(fallen.reasons.front().status == "CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT");
  CHECK(fallen.rank.at("A") == 0);
  REQUIRE(graph.executed.size() == 1);
  CHECK(graph.executed[0].engine == 2);
  CHECK(graph.executed[0].knobs == Knobs{{"KERNEL_CFG", 7}});
  CHECK(graph.executed[0].times == 1);
  REQUIRE(graph.findings.engine_configs[1].plan);
  CHECK(graph.findings.engine_configs[1].plan->status == "CUDNN_STATUS_SUCCESS");
}

TEST_CASE("JAX's log and PyTorch's decode log: candidates and executions are read", "[log]") {
  const LogHistory jax = history_of(text_of("jax-0.11-cudnn-9.19-fprop-causal-f16.log.xz"));
  REQUIRE(jax.graphs.size() == 1);
  CHECK(configs_text(jax.graphs[0]) ==
        "engine 2 KERNEL_CFG=32 rejected, engine 2 KERNEL_CFG=7, engine 1 KERNEL_CFG=6, engine 1 KERNEL_CFG=5, engine "
        "1 KERNEL_CFG=3");
  REQUIRE(jax.graphs[0].executed.size() == 1);
  CHECK(jax.graphs[0].executed[0].times == 2);
  const LogHistory decode = history_of(text_of("pytorch-2.11-cudnn-9.19-decode-bf16.log.xz"));
  REQUIRE(decode.graphs.size() == 1);
  CHECK(decode.graphs[0].kind == "UNIFIED_SDPA_FWD");
  // Its finalize began at 09.617894 and ended at 09.920752.
  CHECK(decode.graphs[0].plans == 1);
  CHECK(decode.graphs[0].plan_seconds == Approx(0.302858).epsilon(0.001));
  CHECK(configs_text(decode.graphs[0]) ==
        "engine 8 KERNEL_CFG=35, engine 9 KERNEL_CFG=7 rejected, engine 8 KERNEL_CFG=3");
}

TEST_CASE("a repeated log gives the same graph twice, and two logs give two graphs in order", "[log]") {
  const std::string one = text_of(pytorch), other = text_of("pytorch-2.11-cudnn-9.19-decode-bf16.log.xz");
  const LogHistory twice = history_of(one + one);
  REQUIRE(twice.graphs.size() == 1);
  CHECK(twice.graphs[0].finalized == 2);
  CHECK(twice.graphs[0].executed.at(0).times == 2);
  CHECK(twice.graphs[0].findings.modes.size() == 1);
  const LogHistory both = history_of(one + other);
  REQUIRE(both.graphs.size() == 2);
  CHECK(both.graphs[0].kind == "SDPA_FWD");
  CHECK(both.graphs[1].kind == "UNIFIED_SDPA_FWD");
}

TEST_CASE("cudnn-frontend's JSON over several lines is read between other lines", "[log]") {
  std::istringstream lines(test::unpacked_fixture("frontend-graphs.jsonl.xz"));
  std::string line;
  std::getline(lines, line);
  const Json graph = Json::parse(line)["frontend"];
  const LogHistory history = history_of("GPU: NVIDIA B200\n{\n  \"other\": 1\n}\n" + graph.dump(1) + "\nthe end\n");
  REQUIRE(history.frontend.size() == 1);
  CHECK(history.frontend.front().line == 5);
  CHECK(Json::parse(history.frontend.front().json) == graph);
}

TEST_CASE("threads that write alternately do not mix their graphs", "[log]") {
  // Two logs interleaved entry by entry, each as a separate thread.
  const auto entries = [](const std::string& text) {
    std::vector<std::string> list;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find("\nI! CuDNN", at + 1), text.size());
      list.push_back(text.substr(at, end - at));
      at = end;
    }
    return list;
  };
  const auto a = entries(text_of(pytorch));
  const auto b = entries(replaced(text_of("pytorch-2.11-cudnn-9.19-decode-bf16.log.xz"), "Thread=673", "Thread=9"));
  std::string mixed;
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i < a.size()) mixed += a[i];
    if (i < b.size()) mixed += b[i];
  }
  const LogHistory history = history_of(mixed);
  REQUIRE(history.graphs.size() == 2);
  const LogHistory alone[] = {history_of(text_of(pytorch)),
                              history_of(text_of("pytorch-2.11-cudnn-9.19-decode-bf16.log.xz"))};
  for (const auto& expected : alone) {
    const auto found = std::find_if(history.graphs.begin(), history.graphs.end(),
                                    [&](const auto& graph) { return graph.hash == expected.graphs[0].hash; });
    REQUIRE(found != history.graphs.end());
    CHECK(walk_differences(expected.graphs[0].findings, found->findings).empty());
    CHECK(configs_text(*found) == configs_text(expected.graphs[0]));
    CHECK(found->executed.size() == 1);
  }
}

TEST_CASE("a log truncated anywhere never fails, and its complete part is read", "[log]") {
  const std::string text = text_of("pytorch-2.11-cudnn-9.19-decode-bf16.log.xz");
  const size_t graph = text.find("cudnnBackendFinalizeGraphVisualize");
  for (size_t size = 0; size < text.size(); size += 9973) {
    const LogHistory history = history_of(std::string_view(text).substr(0, size));
    if (size > graph + 4000) CHECK(history.graphs.size() == 1);
  }
  // A graph with truncated JSON is a problem that names its line.
  const LogHistory cut = history_of(std::string_view(text).substr(0, graph + 500));
  REQUIRE(cut.problems.size() == 1);
  CHECK(contains(cut.problems[0], "line 1983: the JSON of cudnnBackendFinalizeGraphVisualize() is cut off"));
}

TEST_CASE("JSON with a meaningless value is reported with its location", "[log]") {
  const std::string text = replaced(text_of(pytorch), "\"pointwiseMode\":\"CUDNN_POINTWISE_EXP\"",
                                    "\"pointwiseMode\":\"CUDNN_POINTWISE_EXPO\"");
  const LogHistory history = history_of(text);
  REQUIRE(!history.graphs.empty());
  CHECK(!history.graphs[0].imported);
  CHECK(contains(
      history.graphs[0].problem,
      "operationGraph/nodes/8/pointwiseMode: \"CUDNN_POINTWISE_EXPO\" is not a known value; allowed: \"CUDNN_POINTWISE_ADD\""));
}

TEST_CASE("pasted lines: every engine's reason", "[log]") {
  const LogHistory history = history_of(fixture("forum-318288.txt"));
  REQUIRE(history.graphs.size() == 1);
  CHECK(!history.has_entries());
  const auto explanation = replay::explain(history.graphs[0], {});
  CHECK(explanation.refused);
  REQUIRE(explanation.cause);
  CHECK(explanation.cause->engine == 7);
  CHECK(explanation.cause->reason ==
        "Multi-GEMM is only supported on Hopper at: receive_op_->target != fort_device::SM90");
  REQUIRE(explanation.reasons.size() == 1);
  CHECK(explanation.reasons[0].is_known);
}

TEST_CASE("the cause is the reason of the engine that got furthest", "[log]") {
  const LogHistory history = history_of(fixture("support-checks-l40s-two-matmul-fallback.txt"));
  REQUIRE(history.graphs.size() == 1);
  const auto explanation = replay::explain(history.graphs[0], {});
  REQUIRE(explanation.cause);
  CHECK(explanation.cause->engine == 0);
  CHECK(explanation.cause->category == answer::Category::shared_memory);
  CHECK(contains(explanation.cause->reason, "Kernel request for shared memory"));
  CHECK(explanation.reasons.front().category == answer::Category::shared_memory);
  CHECK(explanation.reasons.size() > 2);
}

TEST_CASE("a log of only warnings still gives the reason", "[log]") {
  const LogHistory history = history_of(fixture("support-checks-no-driver.txt"));
  REQUIRE(history.graphs.size() == 1);
  CHECK(!history.graphs[0].imported);
  const auto explanation = replay::explain(history.graphs[0], {});
  CHECK(explanation.refused);
  REQUIRE(explanation.cause);
  CHECK(explanation.cause->category == answer::Category::environment);
}

}  // namespace attnprobe::test::log_history_test
