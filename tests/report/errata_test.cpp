// Errata files for cudnn-frontend. The handling of tags and rules was compared with cudnn-frontend 1.17.0 and 1.23.0
// for 700 random configs on two simulated GPUs. The tags here are from 1.17.0.
#include "report/model/errata.hpp"

#include "attention/config.hpp"
#include "catch.hpp"

namespace attnprobe::test::errata_test {

using namespace attnprobe::report;

namespace {

constexpr CudnnVersion version = 91900;

graph::OpGraph graph_of(const std::string& more) {
  const auto configs =
      attention::parse_configs(R"({"heads": 8, "seqlen": 512, "head_dim": 64, "dtype": "bf16")" + more + "}", "x.json");
  return build::build_graph(configs.at(0).spec, {version, 90}).graph;
}

const std::string causal = R"(, "pass": "fprop_train", "mask": "causal")";
const std::string causal_tag =
    "Matmul_MUL_GEN_INDEX_GEN_INDEX_CMP_GE_BINARY_SELECT_Reduction_SUB_EXP_Reduction_LOG_ADD_DIV_Matmul_";

probe::EngineConfigFindings ran(int64_t engine, probe::Knobs knobs, const std::string& status) {
  probe::EngineConfigFindings config;
  config.engine = engine;
  config.knobs = std::move(knobs);
  config.run.emplace();
  config.run->status = parse_enum<probe::RunStatus>(status).value();
  config.run->message = "what went wrong";
  return config;
}

probe::EngineConfigFindings built(int64_t engine, probe::Knobs knobs, const std::string& status) {
  probe::EngineConfigFindings config;
  config.engine = engine;
  config.knobs = std::move(knobs);
  config.plan.emplace();
  config.plan->status = status;
  return config;
}

answer::Answer result_of(const std::string& more, std::vector<probe::EngineConfigFindings> configs) {
  answer::Answer result;
  result.config.spec.name = "gpt2";
  result.graph.graph = graph_of(more);
  result.target.id = "device:0";
  result.target.sm = 90;
  result.cudnn_version = version;
  result.findings.engine_configs = std::move(configs);
  return result;
}

Json errata_of(const answer::Answer& result) {
  return errata({&result});
}

// check_errata() of cudnn_frontend_Errata.h, from its description.
bool check_errata(const Json& file, const std::string& plan_tag, int64_t compiled_with = version.number()) {
  for (const Json& rule : file["rules"]) {
    const std::string prefix = rule["operation"].get<std::string>() + "_eng" + rule["engine"].dump() + "_";
    bool blocked = (plan_tag + "_").starts_with(prefix) && compiled_with >= rule["cudnn_version_start"] &&
                   compiled_with < rule["cudnn_version_end"];
    for (const Json& knob : rule["knob"])
      blocked = blocked && plan_tag.find(knob.get<std::string>()) != std::string::npos;
    if (blocked) return true;
  }
  return false;
}

}  // namespace

// ---- tags

TEST_CASE("A tag consists of the operations' names", "[errata]") {
  const auto tag = [](const std::string& more) { return tag_of(graph_of(more), TagForm::names); };
  CHECK(tag(causal) == causal_tag);
  CHECK(tag(R"(, "pass": "fprop_train", "dropout": 0.1)") ==
        "Matmul_MUL_Reduction_SUB_EXP_Reduction_LOG_ADD_DIV_Rng_MUL_MUL_Matmul_");
  CHECK(
      tag(R"(, "pass": "bprop", "mask": "causal")") ==
      "MUL_Reduction_MUL_Matmul_MUL_SUB_GEN_INDEX_GEN_INDEX_CMP_GE_BINARY_SELECT_EXP_Reshape_Matmul_Matmul_SUB_MUL_MUL_Reshape_Matmul_Reshape_Matmul_IDENTITY_");
}

TEST_CASE("From cudnn-frontend 1.18 on the graph API has no names", "[errata]") {
  CHECK(tag_of(graph_of(causal), TagForm::underscores) == std::string(14, '_'));
}

TEST_CASE("A paged cache load has no name, and raw operations are not in the tag", "[errata]") {
  graph::OpGraph graph;
  graph.operations = {graph::PagedCacheLoad{}, graph::BlockScaleDequantize{},
                      graph::Matmul{},         graph::DiagonalBandMask{},
                      graph::Softmax{},        graph::Reshape{}};
  CHECK(tag_of(graph, TagForm::names) == "_Matmul_Reshape_");
  CHECK(tag_of(graph, TagForm::underscores) == "___");
}

TEST_CASE("A graph of the unified operation has an empty tag", "[errata]") {
  for (const auto form : {TagForm::names, TagForm::underscores})
    CHECK(tag_of(graph_of(R"(, "pattern": "sdpa_unified")"), form).empty());
}

TEST_CASE("Plan names have knobs by number, in ascending order", "[errata]") {
  CHECK(plan_name(5, {{"KERNEL_CFG", 31}, {"STAGES", 2}}) == "eng5_k14=2_k24=31");
  CHECK(plan_name(5, {}) == "eng5");
  CHECK(plan_name(0, {{"77", 1}, {"SPLIT_K", -1}}) == "eng0_k0=-1_k77=1");
}

// ---- rules

TEST_CASE("A wrong engine config gives one rule for each form of the tag", "[errata]") {
  const Json file = errata_of(result_of(causal, {ran(2, {{"KERNEL_CFG", 7}}, "wrong_result")}));
  CHECK(file["version"] == 1);
  CHECK(file["not_expressible"].empty());
  REQUIRE(file["rules"].size() == 2);
  const Json& rule = file["rules"][0];
  CHECK(rule["rule_id"] == "eng2_k24=7: wrong_result, sm_90, cuDNN 9.19.0, tag with names");
  CHECK(rule["operation"] == causal_tag.substr(0, causal_tag.size() - 1));
  CHECK(rule["engine"] == 2);
  CHECK(rule["knob"] == Json{"k24=7"});
  CHECK(rule["cudnn_version_start"] == version.number());
  CHECK(rule["cudnn_version_end"] == version.number() + 1);
  CHECK(rule["arch"] == "sm_90");
  CHECK(rule["plan_name"] == "eng2_k24=7");
  CHECK(rule["also_blocks"] == Json::object());
  REQUIRE(rule["seen"].size() == 1);
  CHECK(rule["seen"][0]["status"] == "wrong_result");
  CHECK(rule["seen"][0]["message"] == "what went wrong");
  CHECK(rule["seen"][0]["config"] == "gpt2");
  CHECK(rule["seen"][0]["target"] == "device:0");
  CHECK(file["rules"][1]["operation"] == std::string(13, '_'));
  CHECK(file["rules"][1]["rule_id"] == "eng2_k24=7: wrong_result, sm_90, cuDNN 9.19.0, tag without names");
}

TEST_CASE("cudnn-frontend blocks exactly the engine configs that the rules name", "[errata]") {
  const Json file = errata_of(result_of(causal, {ran(2, {{"KERNEL_CFG", 7}, {"STAGES", 2}}, "crashed")}));
  for (const std::string& tag : {causal_tag, std::string(14, '_')}) {
    CHECK(check_errata(file, tag + "eng2_k14=2_k24=7"));
    CHECK(check_errata(file, tag + "eng2_k24=7_k14=2"));
    CHECK_FALSE(check_errata(file, tag + "eng2_k14=3_k24=7"));
    CHECK_FALSE(check_errata(file, tag + "eng2_k24=7"));
    CHECK_FALSE(check_errata(file, tag + "eng22_k14=2_k24=7"));
    CHECK_FALSE(check_errata(file, "_" + tag + "eng2_k14=2_k24=7"));
    CHECK_FALSE(check_errata(file, tag + "eng2_k14=2_k24=7", version.number() + 1));
    CHECK_FALSE(check_errata(file, tag + "eng2_k14=2_k24=7", version.number() - 1));
  }
}

TEST_CASE("A graph of one operation has an empty name for its operation and is found", "[errata]") {
  answer::Answer result = result_of(causal, {ran(2, {}, "crashed")});
  result.graph.graph.operations = {graph::Matmul{}};
  CHECK(check_errata(errata_of(result), "Matmul_eng2"));
  CHECK(check_errata(errata_of(result), "_eng2"));
  CHECK_FALSE(check_errata(errata_of(result), "eng2"));
}

TEST_CASE("Answers of cuDNN are not errata", "[errata]") {
  for (const std::string status : {"crashed", "timeout", "wrong_result", "cuda_error"}) {
    INFO(status);
    CHECK(errata_of(result_of(causal, {ran(2, {}, status)}))["rules"].size() == 2);
  }
  for (const std::string status : {"ok", "not_verified", "out_of_memory", "cudnn_error", "not_run"}) {
    INFO(status);
    CHECK(errata_of(result_of(causal, {ran(2, {}, status)}))["rules"].empty());
  }
  CHECK(errata_of(result_of(causal, {built(2, {}, "CUDNN_STATUS_SUCCESS")}))["rules"].empty());
  CHECK(errata_of(result_of(causal, {built(2, {}, "CUDNN_STATUS_INTERNAL_ERROR")}))["rules"].empty());
  CHECK(errata_of(result_of(causal, {probe::EngineConfigFindings()}))["rules"].empty());
}

TEST_CASE("A plan that kills the worker while it is built is an erratum", "[errata]") {
  probe::EngineConfigFindings deadly;  // there is no plan, because the worker was lost
  deadly.engine = 12;
  deadly.knobs = {{"KERNEL_CFG", 7}};
  const auto fine = built(2, {{"KERNEL_CFG", 7}}, "CUDNN_STATUS_SUCCESS");
  answer::Answer result = result_of(causal, {fine, deadly});
  result.verdict = answer::Verdict::crashed;
  result.crash = answer::Crash{"signal 11", {probe::Step::plan, "plan", 12, {{"KERNEL_CFG", 7}}}, ""};
  const Json file = errata_of(result);
  REQUIRE(file["rules"].size() == 2);
  CHECK(file["rules"][0]["plan_name"] == "eng12_k24=7");
  CHECK(file["rules"][0]["seen"][0]["message"] == R"(signal 11 at plan of engine 12 {"KERNEL_CFG":7})");

  // The whole config timed out, so the responsible plan is unknown.
  result.verdict = answer::Verdict::timeout;
  CHECK(errata_of(result)["rules"].empty());

  CHECK(errata_of(result_of(causal, {fine, built(12, {}, "crashed")}))["rules"].size() == 2);
}

TEST_CASE("A repeated observation gives the same rule, and another GPU or cuDNN a new one", "[errata]") {
  const answer::Answer first = result_of(causal, {ran(2, {}, "wrong_result")});
  answer::Answer other_shape = result_of(causal + R"(, "batch": 4)", {ran(2, {}, "crashed")});
  CHECK(errata({&first, &other_shape, &first})["rules"].size() == 2);
  const Json rule = errata({&first, &other_shape, &first})["rules"][0];
  CHECK(rule["seen"].size() == 3);
  CHECK(rule["rule_id"] == "eng2: wrong_result, crashed, sm_90, cuDNN 9.19.0, tag with names");

  other_shape.target.sm = 100;
  CHECK(errata({&first, &other_shape})["rules"].size() == 4);
  other_shape.target.sm = 90;
  other_shape.cudnn_version = 92000;
  CHECK(errata({&first, &other_shape})["rules"].size() == 4);
}

TEST_CASE("A rule lists the correct runs that it also blocks", "[errata]") {
  const answer::Answer wrong =
      result_of(causal, {ran(2, {{"KERNEL_CFG", 3}}, "wrong_result"), ran(2, {{"KERNEL_CFG", 31}}, "ok"),
                         ran(2, {{"KERNEL_CFG", 13}}, "ok"), ran(21, {{"KERNEL_CFG", 3}}, "ok")});
  const answer::Answer right = result_of(causal + R"(, "batch": 4)", {ran(2, {{"KERNEL_CFG", 3}}, "ok")});
  answer::Answer newer = right;
  newer.cudnn_version = 92000;
  // The same number of different operations: only the form without names confuses them.
  answer::Answer other_graph = right;
  other_graph.graph.graph.operations.back() = graph::Reshape{};

  const Json rules = errata({&wrong, &right, &right, &newer, &other_graph})["rules"];
  REQUIRE(rules.size() == 2);
  CHECK(rules[0]["also_blocks"] == Json{{"eng2_k24=31", 1}, {"eng2_k24=3", 2}});
  CHECK(rules[1]["also_blocks"] == Json{{"eng2_k24=31", 1}, {"eng2_k24=3", 3}});
}

TEST_CASE("Engines that the format cannot express are reported", "[errata]") {
  const Json file = errata_of(result_of(R"(, "pattern": "sdpa_unified")", {ran(9, {{"KERNEL_CFG", 7}}, "cuda_error")}));
  CHECK(file["rules"].empty());
  REQUIRE(file["not_expressible"].size() == 1);
  CHECK(file["not_expressible"][0]["rule_id"] == "eng9_k24=7: cuda_error, sm_90, cuDNN 9.19.0");
  CHECK(file["not_expressible"][0]["plan_name"] == "eng9_k24=7");
  CHECK(file["not_expressible"][0]["seen"][0]["status"] == "cuda_error");
}

TEST_CASE("No results give no rules", "[errata]") {
  CHECK(errata({}) == Json{{"version", 1}, {"rules", Json::array()}, {"not_expressible", Json::array()}});
}

}  // namespace attnprobe::test::errata_test
