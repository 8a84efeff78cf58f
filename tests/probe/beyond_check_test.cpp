// Cases in which the support check of proposed engine configs is not sufficient. Some configs pass but do not compile;
// others are not proposed by any heuristic. Measured with cuDNN 9.19 (docs/how-it-works.md, "Engines").
#include <algorithm>

#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test::beyond_check_test {

using answer::Answer;
using answer::Verdict;

namespace {

constexpr const char* compile_error = "CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED";

probe::WalkOptions with_plans() {
  probe::WalkOptions options;
  options.modes = {"A"};
  options.plans = probe::Plans::build;
  return options;
}

bool is_cudnn_9_19(const Answer& result) {
  if (result.cudnn_version.number() / 100 == 919) return true;
  WARN("SKIPPED: measured with cuDNN 9.19, this is " << result.cudnn_version);
  return false;
}

const probe::EngineConfigFindings& config_of(const Answer& result, int64_t engine, const probe::Knobs& knobs) {
  for (const auto& config : result.findings.engine_configs)
    if (config.engine == engine && config.knobs == knobs) return config;
  throw std::runtime_error("no such engine config");
}

}  // namespace

TEST_CASE("dropout at decode: the first choice passes the check but does not compile, the next ones compile",
          "[plans]") {
  const Answer result = probe_one(
      R"({"pattern": "sdpa_composite", "batch": 2, "heads": 8, "seqlen_q": 1, "seqlen_kv": 4096, "head_dim": 64,
          "dropout": 0.1})",
      "h200", with_plans());
  if (!is_cudnn_9_19(result)) return;
  CHECK(result.verdict == Verdict::supported);
  CHECK(mode_counts(result, "A") == "5/6");
  const auto& first = config_of(result, 1, {{"KERNEL_CFG", 35}});
  CHECK(first.rank.at("A") == 0);
  CHECK(first.check.supported);
  CHECK(first.plan->status == compile_error);
  CHECK(contains(first.plan->reasons.at(0).reason, "NVRTC_SUCCESS"));
  CHECK(std::count_if(result.findings.engine_configs.begin(), result.findings.engine_configs.end(),
                      [](const auto& c) { return c.plan && c.plan->status == "CUDNN_STATUS_SUCCESS"; }) == 4);
}

TEST_CASE("fp8 with a sink on Hopper: every engine config that passes the check fails to compile", "[plans]") {
  const std::string config =
      R"({"pattern": "sdpa_composite", "pass": "fprop_train", "batch": 2, "heads": 8, "seqlen": 512,
          "head_dim": 128, "dtype": "fp8_e4m3", "sink": true})";
  const Answer checked = probe_one(config, "h200");
  if (!is_cudnn_9_19(checked)) return;
  CHECK(checked.verdict == Verdict::supported);  // according to the check
  auto options = with_plans();
  options.sweep_where_none = false;
  const Answer built = probe_one(config, "h200", options);
  CHECK(built.verdict == Verdict::unsupported);
  CHECK(mode_counts(built, "A") == "2/3");
  for (const int64_t knob : {32, 7}) CHECK(config_of(built, 2, {{"KERNEL_CFG", knob}}).plan->status == compile_error);
  CHECK(contains(built.root_cause->reason, "NVRTC_SUCCESS"));
}

TEST_CASE("fp8 ragged backward on Hopper: its only config does not compile, so all engines are asked", "[plans]") {
  const Answer result = probe_one(
      R"({"pattern": "sdpa_composite", "pass": "bprop", "batch": 2, "heads": 8, "seqlen": 512, "head_dim": 128,
          "dtype": "fp8_e4m3", "layout": "thd", "mask": "padding"})",
      "h200", with_plans());
  if (!is_cudnn_9_19(result)) return;
  CHECK(result.findings.swept);
  CHECK(config_of(result, 6, {{"KERNEL_CFG", 26}, {"STAGES", 1}}).plan->status == compile_error);
  CHECK(result.verdict == Verdict::unsupported);
}

TEST_CASE(
    "deterministic backward on Blackwell: cudnn-frontend's own engine config is asked in addition to the heuristics",
    "[engines]") {
  const Answer result = probe_one(
      R"({"pass": "bprop", "batch": 2, "heads": 8, "seqlen": 512, "head_dim": 64, "deterministic": true})", "b200");
  if (!is_cudnn_9_19(result)) return;
  CHECK(result.verdict == Verdict::supported);
  CHECK(contains(result.graph.choice, "asks no heuristic (mode FRONTEND)"));
  CHECK(mode_counts(result, "FRONTEND") == "1/1");
  CHECK(viable_engines(result, "FRONTEND") == "5");
  CHECK(viable_engines(result, "A") == "7");
  const auto& forced = config_of(result, 5, {{"KERNEL_CFG", 31}, {"STAGES", 2}});
  CHECK(forced.modes == std::vector<std::string>{"FRONTEND"});
  CHECK(&forced == &result.findings.engine_configs.front());
}

TEST_CASE("fp8 192/128 backward on Blackwell works only with one config", "[engines]") {
  const std::string config =
      R"({"pass": "bprop", "batch": 2, "heads": 8, "seqlen": 512, "head_dim_qk": 192, "head_dim_v": 128,
          "dtype": "fp8_e4m3"})";
  const Answer result = probe_one(config, "b200");
  if (!is_cudnn_9_19(result)) return;
  CHECK(result.verdict == Verdict::supported);
  CHECK(mode_counts(result, "FRONTEND") == "1/1");
  CHECK(mode_counts(result, "A") == "0/3");
  // On other GPUs no config works.
  const Answer h200 = probe_one(config, "h200");
  CHECK(h200.verdict == Verdict::unsupported);
  CHECK(h200.findings.modes.front().mode == "A");
  CHECK(contains(h200.root_cause->reason, "Only D=128 for BPROP fp8 FMHA"));
}

TEST_CASE("asking every engine finds configs that no heuristic proposes", "[engines]") {
  // cudnn-frontend refuses this config, so it selects no engine. The sweep finds Blackwell's deterministic kernel,
  // which passes the check but does not compile. So the config is unsupported: programs would not use that kernel, and
  // could not.
  const Answer result = probe_one(
      R"({"pattern": "sdpa_composite", "pass": "bprop", "batch": 2, "heads": 8, "seqlen": 512, "head_dim": 64,
          "deterministic": true, "dropout": 0.1})",
      "b200");
  if (!is_cudnn_9_19(result)) return;
  CHECK(mode_counts(result, "A") == "0/4");
  CHECK(result.findings.swept);
  CHECK(result.verdict == Verdict::unsupported);
  CHECK(result.root_cause->category == answer::Category::dropout);
  const auto& found = config_of(result, 5, {{"KERNEL_CFG", 31}, {"STAGES", 2}});
  CHECK(found.check.supported);
  REQUIRE(found.plan);
  CHECK(found.plan->status == "CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED");
  CHECK(result.findings.engines.at(5).viable == 1);
}

}  // namespace attnprobe::test::beyond_check_test
