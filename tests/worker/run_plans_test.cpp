// Results of running plans, without a GPU: each fault is detected, and affects only its own plan.
#include "run_answers.hpp"

namespace attnprobe::test::run_plans_test {

namespace {

const std::string mode_a = on_h200 + "--mode A --plans run";
const std::string two_plans = on_h200 + "--mode FALLBACK --plans run";

}  // namespace

TEST_CASE("a faulty plan of one engine is found, loses that engine config and sets the exit code", "[run][slow]") {
  struct Case {
    std::string fault, status, message;
    int exit_code;
  };
  const Case cases[] = {
      {"wrong", "wrong_result", "O: 1 of 8192 elements are wrong, first at [0, 0, 0, 1]", 5},
      {"nan", "wrong_result", "O: 1 of 8192 elements are wrong, first at [0, 0, 0, 1]", 5},
      {"outside", "wrong_result", "O: 1 elements outside the tensor were written", 5},
      {"unwritten", "wrong_result", "O: 1 of its elements were not written", 5},
      {"cuda_error", "cuda_error", "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (injected by a test)", 4},
      {"out_of_memory", "out_of_memory", "the GPU is too small for this (injected by a test)", 0}};
  for (const auto& [fault, status, message, exit_code] : cases) {
    INFO(fault);
    const Answer answer = ask(two_plans, double_with(fault + "@1"));
    CHECK(answer.exit_code == exit_code);
    check_ran(answer, 2);
    for (const Json& config : viable(answer, 1)) {
      REQUIRE(config["run"].is_object());
      CHECK(config["plan"]["status"] == plan_built);
      CHECK(config["run"]["status"] == status);
      CHECK(config["run"]["message"] == message);
      CHECK(config["run"]["context_lost"] == (fault == "cuda_error"));
      CHECK(config["time"].is_null());
      CHECK(contains(answer.text, fmt::format("! engine 1: {}: {}", status, message)));
      if (status != "wrong_result") continue;
      const Json& output = config["run"]["outputs"][0];
      CHECK(output["right"] == false);
      CHECK(output["nan"] == (fault == "nan" || fault == "unwritten" ? 1 : 0));
      CHECK(output["outside"] == (fault == "outside" ? 1 : 0));
      CHECK(output["unwritten"] == (fault == "unwritten" ? 1 : 0));
    }
    // One rule for each form of the graph's tag. A GPU with too little memory is not cuDNN's fault.
    CHECK(answer.errata["rules"].size() == (fault == "out_of_memory" ? 0 : 2));
  }
}

TEST_CASE("results that differ between runs are correct, and both reports mention the difference", "[run]") {
  const Answer answer = ask(two_plans, double_with("changing@1"));
  CHECK(answer.exit_code == 0);
  check_ran(answer, 2);
  for (const Json& config : viable(answer, 1)) {
    REQUIRE(config["run"].is_object());
    CHECK(config["run"]["status"] == "ok");
    CHECK(config["run"]["repeats"] == 1);
    CHECK(config["run"]["deterministic"] == false);
  }
  CHECK(contains(answer.text, ", NONDETERMINISTIC "));
  CHECK(contains(answer.text, "! engine 1: results differ from run to run"));
  CHECK(answer.errata["rules"].empty());
}

TEST_CASE("the errata of a run name only the engine config with the wrong result", "[run]") {
  const Answer answer = ask(mode_a, double_with("wrong@2"));
  check_ran(answer, 1);
  const auto wrong = viable(answer, 2);
  const Json& rules = answer.errata["rules"];
  REQUIRE(rules.size() == 2 * wrong.size());
  for (size_t i = 0; i < rules.size(); ++i) {
    const Json& config = wrong[i / 2];
    const std::string knob = fmt::format("k24={}", config["knobs"]["KERNEL_CFG"].get<int>());
    CHECK(rules[i]["engine"] == 2);
    CHECK(rules[i]["knob"] == Json{knob});
    CHECK(rules[i]["plan_name"] == "eng2_" + knob);
    CHECK(rules[i]["arch"] == "sm_90");
    const auto version = rules[i]["cudnn_version_start"].get<int64_t>();
    CHECK(rules[i]["cudnn_version_end"] == version + 1);
    CHECK(answer.result["cudnn"]["version"] == CudnnVersion::from_number(version).text());
    CHECK(rules[i]["seen"][0]["status"] == "wrong_result");
    CHECK(rules[i]["seen"][0]["message"] == config["run"]["message"]);
  }
}

TEST_CASE("if every plan has the fault, it is the verdict and root cause", "[run][slow]") {
  struct Case {
    std::string fault, status, verdict, category, reason, explanation;
    int exit_code;
  };
  const Case cases[] = {
      {"wrong", "wrong_result", "wrong_result", "wrong_result", "elements are wrong", "computes wrong results", 5},
      {"cuda_error", "cuda_error", "error", "cuda_error", "CUDA_ERROR_ILLEGAL_ADDRESS", "no plan runs to completion",
       4},
      {"out_of_memory", "out_of_memory", "error", "memory", "the GPU is too small", "does not have the memory", 3}};
  for (const auto& [fault, status, verdict, category, reason, explanation, exit_code] : cases) {
    INFO(fault);
    const Answer answer = ask(mode_a, double_with(fault));
    CHECK(answer.exit_code == exit_code);
    CHECK(answer.result["verdict"] == verdict);
    CHECK(answer.result["met"] == false);
    CHECK(answer.result["environment_broken"] == (fault == "out_of_memory"));
    const Json& cause = answer.result["root_cause"];
    CHECK(cause["category"] == category);
    CHECK(contains(cause["reason"], reason));
    CHECK(contains(cause["explanation"], explanation));
    CHECK(cause["engine"] == 2);
    CHECK(cause["mode"] == "A");
    // After all proposals of the heuristic failed, configs that it did not propose were also run.
    size_t swept = 0;
    for (const Json& config : answer.result["engine_configs"]) {
      if (config["run"].is_null()) continue;
      CHECK(config["run"]["status"] == status);
      swept += config["modes"].empty() ? 1 : 0;
    }
    CHECK(swept > 0);
  }
}

TEST_CASE("a GPU too small for one engine does not hide the result of the other", "[run]") {
  const Answer answer = ask(two_plans, worker_fault("segfault@run of engine 2*", "out_of_memory@1"));
  CHECK(answer.exit_code == 4);
  CHECK(answer.result["verdict"] == "crashed");
  CHECK(answer.result["environment_broken"] == false);
  CHECK(answer.result["root_cause"]["category"] == "crash");
  CHECK(answer.result["root_cause"]["engine"] == 2);
}

TEST_CASE("plans of simulated GPUs do not run: a usage error with the allowed values", "[run]") {
  const Run run = run_attnprobe(small_problem + "--target h200,l40s --plans run");
  CHECK(run.exit_code == 2);
  CHECK(run.out.empty());
  CHECK(contains(run.err, "--plans run: every target is simulated"));
  CHECK(contains(run.err, "allowed: none, build, or a --target device:0"));
}

}  // namespace attnprobe::test::run_plans_test
