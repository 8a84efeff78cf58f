// The answer for a user, from verdict, rules and engine configs.
#include "answer/judge.hpp"
#include "catch.hpp"
#include "gpu/catalogue.hpp"
#include "support.hpp"

namespace attnprobe::test::weigh_test {

using answer::Answer;
using answer::FirstVersion;
using answer::Usable;

namespace {

probe::EngineConfigFindings engine_config(int64_t engine, const std::string& plan_status,
                                          const std::string& reason = "") {
  probe::EngineConfigFindings config;
  config.modes = {"A"};
  config.engine = engine;
  config.check.supported = true;
  config.plan = probe::PlanFindings{plan_status, 1.0, {}, false, {}, {}};
  if (!reason.empty()) config.plan->reasons.push_back({plan_status, reason});
  return config;
}

// One query in fp8 with 9.14 on a B200, which has a known bug in compiling.
Answer fp8_decode(std::vector<probe::EngineConfigFindings> configs) {
  Answer result;
  result.config =
      attention::parse_configs(
          R"({"heads": 32, "batch": 4, "seqlen_q": 1, "seqlen_kv": 2048, "head_dim": 128, "dtype": "fp8_e4m3"})",
          "test")
          .at(0);
  result.target = *gpu::find("b200");
  result.cudnn_version = CudnnVersion{9, 14, 0};
  result.findings.plans_built = !configs.empty() && configs[0].plan.has_value();
  result.findings.engine_configs = std::move(configs);
  judge(result);
  add_version_rules(result);
  weigh(result);
  return result;
}

constexpr const char* built = "CUDNN_STATUS_SUCCESS";
constexpr const char* failed = "CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED";

}  // namespace

TEST_CASE("a known compile bug is an obstacle until the first choice compiles", "[ask]") {
  auto unbuilt = engine_config(3, built);
  unbuilt.plan.reset();
  const Answer checked = fp8_decode({unbuilt});
  REQUIRE(checked.usable == Usable::but);
  CHECK(checked.warnings.at(0).id == "fp8_decode_blackwell");
  CHECK_THAT(checked.but.at(0).text, ContainsSubstring("its kernel does not compile"));

  const Answer compiled = fp8_decode({engine_config(3, built)});
  CHECK(compiled.usable == Usable::yes);
  CHECK(compiled.warnings.empty());

  const Answer second = fp8_decode({engine_config(3, failed), engine_config(1, built)});
  REQUIRE(second.usable == Usable::but);
  CHECK(second.but.size() == 2);
  CHECK(second.but.back().text == "the first choice, engine 3, does not compile; engine 1 works");

  CHECK(fp8_decode({engine_config(3, failed)}).usable == Usable::no);
}

TEST_CASE("a plan that only the GPU's driver can finish proves nothing", "[ask]") {
  // cuDNN 9.8 to 9.12 for sm_121, measured.
  const auto config =
      engine_config(1, "CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER",
                    "cuLinkCreate returned error attnprobe null driver: no GPU here (100) at: CUDA_SUCCESS != result");
  CHECK(outcome_of(*config.plan) == probe::PlanOutcome::needs_driver);
  const Answer result = fp8_decode({config});
  CHECK(result.verdict == answer::Verdict::supported);
  REQUIRE(result.usable == Usable::but);
  CHECK(result.warnings.at(0).id == "fp8_decode_blackwell");
  CHECK(result.but.size() == 1);
}

TEST_CASE("the first cuDNN version is reported with its evidence", "[ask]") {
  CHECK(text_of(FirstVersion{{9, 10, 2}, true, {9, 8, 0}, {}}) == "from cuDNN 9.10.2 (9.8.0 refuses)");
  CHECK(text_of(FirstVersion{{9, 0, 0}, false, {}, {}}) == "from cuDNN 9.0.0 by rule");
  CHECK(text_of(FirstVersion{{9, 0, 0}, false, {}, {9, 8, 0}}) == "from cuDNN 9.0.0 by rule, checked back to 9.8.0");
  const Answer result = fp8_decode({engine_config(3, built)});
  REQUIRE(result.from);
  CHECK_FALSE(result.from->asked);
}

TEST_CASE("the rules name the first cuDNN for a problem on a GPU, or none", "[rules]") {
  const auto first = [](const char* config, int sm) {
    return rules::first_version(attention::parse_configs(config, "test").at(0).spec, CudnnVersion{9, 19, 0}, sm);
  };
  const char* const plain = R"({"heads": 8, "seqlen": 1024, "head_dim": 64, "dtype": "bf16"})";
  CHECK(first(plain, 103) == CudnnVersion{9, 11, 0});
  CHECK(first(plain, 100) == CudnnVersion{9, 7, 0});
  CHECK(first(plain, 75) == std::nullopt);  // no cuDNN supports it there
  CHECK(first(R"({"pattern": "two_matmul", "heads": 8, "seqlen": 128, "head_dim": 64})", 80) ==
        std::nullopt);  // unknown
}

TEST_CASE(
    "refusals by cudnn-frontend's Python package alone name it, and do not apply to frameworks with their own copy",
    "[ask]") {
  const auto asked = [](const std::vector<std::string>& frameworks) {
    Answer result;
    result.config = attention::parse_configs(
                        R"({"heads": 8, "seqlen": 512, "head_dim": 64, "pass": "bprop", "frontend": "1.24"})", "test")
                        .at(0);
    result.target = *gpu::find("h100");
    result.cudnn_version = CudnnVersion{9, 20, 0};
    result.findings.engine_configs = {engine_config(6, built)};
    judge(result);
    add_version_rules(result);
    add_frameworks(result, rules::choose_gates(frameworks, "test"));
    weigh(result);
    return result;
  };
  const Answer alone = asked({});
  REQUIRE(alone.frontend);
  CHECK(alone.frontend->id == "package_reshape_mode");
  CHECK(alone.frontend->from == "1.24");
  CHECK(alone.frontend->until == "1.26");
  REQUIRE(alone.usable == Usable::but);
  CHECK_THAT(alone.but.at(0).text, StartsWith("the Python package of cudnn-frontend 1.24.0 refuses it: "));
  CHECK_FALSE(asked({"torch==2.13"}).frontend->refuses);
}

}  // namespace attnprobe::test::weigh_test
