// The builders and the walk with the real cuDNN on simulated GPUs: engines for supported graphs, reasons for others.
#include <fmt/format.h>

#include <algorithm>

#include "ask/further/ways_out.hpp"
#include "base/text.hpp"
#include "catch.hpp"
#include "gpu/catalogue.hpp"
#include "support.hpp"

namespace attnprobe::test::walk_test {

using answer::Answer;
using answer::Verdict;

namespace {

const char* const causal_d128 =
    R"({"pattern": "sdpa_composite", "batch": 2, "heads": 8, "seqlen": 512, "head_dim": 128, "mask": "causal"})";
const char* const forum_graph =
    R"({"pattern": "two_matmul", "heads": 1, "seqlen": 10, "head_dim": 64, "layout": "bhsd"})";

bool is_cudnn_9_19(const Answer& result) {
  return result.cudnn_version.number() / 100 == 919;
}

}  // namespace

TEST_CASE("the two matmuls of the forum post: too much shared memory on an L40S, supported elsewhere", "[walk]") {
  auto results = probe_all(forum_graph, "l40s,a100,h200,b200,rtx5090,t4");
  Answer& l40s = results[0];
  CHECK(l40s.verdict == Verdict::unsupported);
  CHECK(mode_counts(l40s, "A") == "0/1");
  CHECK(mode_counts(l40s, "FALLBACK") == "0/8");
  CHECK(l40s.root_cause->category == answer::Category::shared_memory);
  CHECK(l40s.root_cause->status == "CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT");
  CHECK(contains(l40s.root_cause->reason, "exceeding the shared memory in the GPU"));
  CHECK(l40s.root_cause->engine == 0);
  CHECK(l40s.root_cause->mode == "A");
  asking::advise(l40s, {}, {});
  REQUIRE(l40s.root_cause->advice.size() == 2);
  CHECK(contains(l40s.root_cause->advice[0], "pattern \"sdpa\" instead of \"two_matmul\""));
  CHECK(l40s.root_cause->advice[1] == "the same config is supported on a100, h200, b200");
  for (const size_t i : {1U, 2U, 3U}) CHECK(results[i].verdict == Verdict::supported);
  CHECK(results[4].root_cause->category == answer::Category::shared_memory);
  CHECK(results[5].root_cause->category == answer::Category::arch_mismatch);
  CHECK(contains(results[5].root_cause->reason, "supported for Ampere and later GPUs"));
}

TEST_CASE("if only yes or no matters, modes are asked until one works", "[walk]") {
  const auto configs = attention::parse_configs(
      R"([{"heads": 8, "seqlen": 512, "head_dim": 128}, {"heads": 8, "seqlen": 512, "head_dim": 100}])", "two");
  asking::PlanOptions options;
  options.walk.sweep_where_none = false;
  const std::vector<gpu::Target> targets{*gpu::find("h200")};
  const auto whole = answers_to(asking::questions_of(configs), targets, cudnn_path(), options).results;
  options.walk.until_works = true;
  const auto taken = answers_to(asking::questions_of(configs), targets, cudnn_path(), options).results;
  REQUIRE(taken.size() == 2);
  CHECK(whole[0].findings.modes.size() == 3);
  CHECK(taken[0].findings.modes.size() == 1);
  CHECK(taken[1].findings.modes.size() == 3);  // a no needs every mode
  REQUIRE(probe::first_working(taken[0].findings) != nullptr);
  CHECK(probe::first_working(taken[0].findings)->engine == probe::first_working(whole[0].findings)->engine);
  CHECK(probe::first_working(taken[1].findings) == nullptr);
  CHECK(taken[1].root_cause->reason == whole[1].root_cause->reason);
  // Possibly only another mode meets the user's constraint, or has a config that compiles.
  options.constraints.deterministic = true;
  CHECK(answers_to(asking::questions_of(configs), targets, cudnn_path(), options).results[0].findings.modes.size() ==
        3);
  options.constraints = {};
  options.walk.plans = probe::Plans::first;
  CHECK(answers_to(asking::questions_of(configs), targets, cudnn_path(), options).results[0].findings.modes.size() ==
        3);
}

TEST_CASE("every target of the catalogue answers with its family's engine", "[walk][answers]") {
  // Measured with 9.19: the sm80-style engine 1 on all GPUs, and the family's own next to it, except on sm_121, which
  // supports none.
  const std::map<int, std::string> engines{{70, ""},     {75, ""},     {80, "1"},    {86, "1"},    {87, "1"},
                                           {89, "1"},    {90, "1 2"},  {100, "1 3"}, {103, "1 3"}, {107, "1 3"},
                                           {110, "1 3"}, {120, "1 4"}, {121, "1"}};
  for (const Answer& result : probe_all(causal_d128, "all")) {
    INFO(result.target.id);
    if (!is_cudnn_9_19(result)) continue;
    CHECK(viable_engines(result, "A") == engines.at(result.target.sm));
    CHECK(result.verdict == (result.target.sm >= 80 ? Verdict::supported : Verdict::unsupported));
  }
}

TEST_CASE("a config that several modes propose is listed once, with its rank in each", "[walk]") {
  const Answer result = probe_one(causal_d128, "h200");
  std::vector<std::pair<int64_t, probe::Knobs>> seen;
  for (const auto& config : result.findings.engine_configs) {
    const std::pair<int64_t, probe::Knobs> key{config.engine, config.knobs};
    CHECK(std::count(seen.begin(), seen.end(), key) == 0);
    seen.push_back(key);
  }
  const auto& first = result.findings.engine_configs.front();
  CHECK(first.modes == std::vector<std::string>{"A", "B"});
  CHECK(first.rank.at("A") == 0);
  CHECK(first.rank.at("B") == 0);
  CHECK(first.numerical_notes == std::vector<std::string>{"TENSOR_CORE"});
  CHECK(first.behavior_notes == std::vector<std::string>{"RUNTIME_COMPILATION", "SUPPORTS_CUDA_GRAPH_NATIVE_API"});
}

TEST_CASE("the redirection of mode B is reported", "[walk]") {
  const Answer result = probe_one(causal_d128, "h200");
  const auto& mode_b = result.findings.modes.at(1);
  REQUIRE(mode_b.notes.size() == 1);
  CHECK(contains(mode_b.notes[0], "redirecting to CUDNN_HEUR_MODE_A"));
}

TEST_CASE("with --engines all, every engine is asked by index, and engines that do not suit the graph are reported",
          "[walk]") {
  probe::WalkOptions options;
  options.engines = probe::Engines::all;
  const Answer result = probe_one(causal_d128, "h200", options);
  REQUIRE(result.findings.engines.size() == static_cast<size_t>(result.findings.engine_count));
  if (!is_cudnn_9_19(result)) return;
  CHECK(result.findings.engine_count == 12);
  CHECK(result.findings.engines[2].status == "CUDNN_STATUS_SUCCESS");
  REQUIRE(result.findings.engines[2].knobs.size() == 1);
  CHECK(result.findings.engines[2].knobs[0].knob == "KERNEL_CFG");
  CHECK(result.findings.engines[2].knobs[0].max == 36);
  CHECK(result.findings.engines[9].status == "CUDNN_STATUS_NOT_SUPPORTED");
  REQUIRE(!result.findings.engines[9].reasons.empty());
  CHECK(contains(result.findings.engines[9].reasons[0].reason, "is not enabled for SDPA_FWD"));
}

TEST_CASE("with --engines knobs, every knob value is tried, which finds more than the heuristics", "[walk]") {
  probe::WalkOptions options;
  options.engines = probe::Engines::knobs;
  const Answer result = probe_one(
      R"({"pattern": "sdpa_composite", "batch": 2, "heads": 8, "seqlen": 512, "head_dim": 64})", "h200", options);
  CHECK(result.findings.swept);
  if (!is_cudnn_9_19(result)) return;
  // docs/how-it-works.md, "Engines": 1: 19, 2: {7, 31}, 4: {3, 26}; and on engines 1 and 2 also cuDNN's own choice of
  // KERNEL_CFG.
  const std::map<int64_t, std::pair<int64_t, int64_t>> viable_of_tried{{1, {20, 38}}, {2, {3, 38}}, {4, {2, 38}}};
  for (const auto& engine : result.findings.engines) {
    INFO("engine " << engine.engine);
    const auto expected = viable_of_tried.find(engine.engine);
    CHECK(engine.viable == (expected == viable_of_tried.end() ? 0 : expected->second.first));
    if (expected != viable_of_tried.end()) CHECK(engine.tried == expected->second.second);
  }
  for (const auto& config : result.findings.engine_configs)
    if (!config.check.supported) CHECK(!config.reasons.empty());
}

TEST_CASE("plans compile for a simulated GPU and are not reported as loaded", "[walk][plans]") {
  probe::WalkOptions options;
  options.plans = probe::Plans::build;
  options.modes = {"A"};
  for (const Answer& result : probe_all(forum_graph, "a100,h200", options)) {
    INFO(result.target.id);
    CHECK(result.verdict == Verdict::supported);
    const auto& plan = result.findings.engine_configs.at(0).plan;
    REQUIRE(plan);
    CHECK(plan->status == "CUDNN_STATUS_SUCCESS");
    CHECK(plan->build_ms > 0);
    // A plan has some hundred kilobytes of tables and code.
    if (plan->host_bytes) CHECK((*plan->host_bytes > 50'000 && *plan->host_bytes < 20'000'000));
    CHECK_FALSE(plan->loaded);
  }
}

TEST_CASE("a graph that cuDNN refuses as malformed is invalid_graph, with the operation that caused it", "[walk]") {
  const Answer result = probe_one(
      R"({"pattern": "sdpa_composite", "batch": 2, "heads_q": 8, "heads_kv": 3, "seqlen": 512, "head_dim": 64})",
      "h200");
  CHECK(result.verdict == Verdict::invalid_graph);
  REQUIRE(result.findings.failure);
  CHECK(result.findings.failure->stage == "operation graph");
  CHECK(result.findings.failure->cudnn.status == "CUDNN_STATUS_BAD_PARAM");
  CHECK(result.findings.failure->cudnn.call == "cudnnBackendFinalize");
  CHECK(result.findings.failure->cudnn.descriptor == "CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR");
  CHECK(contains(result.findings.failure->message, "operation 0 (matmul)"));
  CHECK(contains(result.root_cause->reason, "bDesc.getDimA()"));
}

TEST_CASE("if no heuristic proposes anything, every engine and knob is tried", "[walk]") {
  Answer result = probe_one(R"({"pattern": "sdpa_composite", "heads": 8, "seqlen": 512, "head_dim": 68})", "l40s");
  CHECK(result.verdict == Verdict::unsupported);
  CHECK(result.findings.swept);
  CHECK(result.findings.engines.size() == static_cast<size_t>(result.findings.engine_count));
  CHECK(result.root_cause->category == answer::Category::head_dim);
  CHECK(contains(result.root_cause->reason, "is not a multiple of 8"));
  asking::advise(result, {}, {});
  REQUIRE(!result.root_cause->advice.empty());
  CHECK(contains(result.root_cause->advice[0], "padded with zeros to 72 and 72"));
}

TEST_CASE("raw messages are kept if requested", "[walk]") {
  probe::WalkOptions options;
  CHECK(probe_one(forum_graph, "l40s", options).findings.log.empty());
  options.keep_log = true;
  CHECK(contains(probe_one(forum_graph, "l40s", options).findings.log, "engine_config_support_checks() called:"));
}

}  // namespace attnprobe::test::walk_test
