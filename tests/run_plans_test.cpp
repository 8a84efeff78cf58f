// Plans that run, on a machine without a GPU: the interpreter of graphs stands in for it, and computes or dies
// as told (lib/worker/test_plans.hpp, lib/worker/serve.cpp). Everything else is the product's own.
#include <fmt/format.h>

#include <fstream>

#include "catch.hpp"
#include "support.hpp"

using namespace attnprobe;
using namespace attnprobe::test;

namespace {

// Mode A proposes engine 2 first, then engine 1, each with knobs.
const std::string problem = "--batch 1 --heads 2 --seqlen 64 --head-dim 64 --pattern sdpa_composite --mode A ";
const std::string success = "CUDNN_STATUS_SUCCESS";

struct Answer {
  int exit_code = -1;
  Json result, errata;
  std::string text;
};

void validate(const std::string& folder) {
  const Run valid = shell(fmt::format(
      R"({0} schema report > {1}/schema && python3 -c 'import json, jsonschema
schema, report = (json.load(open("{1}/" + name)) for name in ("schema", "json"))
jsonschema.validate(report, schema, cls=jsonschema.Draft202012Validator)')",
      program(), folder));
  INFO(valid.err);
  CHECK(valid.exit_code == 0);
}

// One config on one target, and all that the program writes about it.
Answer ask(const std::string& arguments, const Environment& environment) {
  const TemporaryFolder folder;
  const std::string path = folder.path();
  const Run run = run_attnprobe(
      fmt::format("{0} --report json={1}/json --report table={1}/text --errata {1}/errata", arguments, path),
      environment);
  INFO(arguments << "\n" << run.err);
  REQUIRE(std::filesystem::exists(path + "/json"));
  validate(path);
  const Json report = Json::parse(read_text(path + "/json"));
  REQUIRE(report["results"].size() == 1);
  return {run.exit_code, report["results"][0], Json::parse(read_text(path + "/errata")),
          read_text(path + "/text")};
}

Environment double_with(const std::string& plans) {
  return {{"ATTNPROBE_TEST_PLANS", plans}};
}

Environment worker_fault(const std::string& fault) {
  return {{"ATTNPROBE_TEST_PLANS", "right"}, {"ATTNPROBE_TEST_FAULT", fault}};
}

// The engine configs of an engine that pass cuDNN's check: at least one.
std::vector<Json> viable(const Answer& answer, int64_t engine) {
  std::vector<Json> configs;
  for (const Json& config : answer.result["engine_configs"])
    if (config["engine"] == engine && config["check"]["supported"] == true) configs.push_back(config);
  REQUIRE_FALSE(configs.empty());
  return configs;
}

// Engine 1 was none the worse for what became of engine 2, and makes the graph supported.
void check_engine_1_ran(const Answer& answer) {
  for (const Json& config : viable(answer, 1)) {
    INFO(config.dump());
    CHECK(config["plan"]["status"] == success);
    CHECK(config["run"]["status"] == "ok");
    CHECK(config["run"]["message"] == "");
    CHECK(config["run"]["outputs"][0]["right"] == true);
    CHECK(config["run"]["deterministic"] == true);
    CHECK(config["time"]["method"] == "none: a test's stand-in for a plan");
  }
  CHECK(answer.result["verdict"] == "supported");
  CHECK(answer.result["root_cause"].is_null());
  CHECK(answer.result["stages"] == Json({"check", "plan", "run"}));
}

// "engine 2 KERNEL_CFG=7", as the text report has it.
std::string text_name(const Json& config) {
  std::string text = fmt::format("engine {}", config["engine"].get<int64_t>());
  for (const auto& [knob, value] : config["knobs"].items()) text += fmt::format(" {}={}", knob, value.dump());
  return text;
}

std::string at_stage(const std::string& what, const Json& config) {
  return fmt::format("{} of engine {} {}", what, config["engine"].get<int64_t>(), config["knobs"].dump());
}

// Text without the line breaks that its width put in.
std::string on_one_line(const std::string& text) {
  std::string line;
  for (const char c : text)
    if (c != ' ' && c != '\n')
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  return line;
}

}  // namespace

// ---- what plans compute

TEST_CASE("a fault of one engine's plan is found, costs that engine config, and sets the exit code", "[run]") {
  struct Case {
    std::string fault, status, message;
    int exit_code;
  };
  const Case cases[] = {
      {"wrong", "wrong_result", "O: 1 of 8192 elements are wrong, first at [0, 0, 0, 1]", 5},
      {"nan", "wrong_result", "O: 1 of 8192 elements are wrong, first at [0, 0, 0, 1]", 5},
      {"outside", "wrong_result", "O: 1 elements outside of the tensor were written", 5},
      {"unwritten", "wrong_result", "O: 1 of its elements were not written", 5},
      {"cuda_error", "cuda_error",
       "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (injected by a test)", 4},
      {"out_of_memory", "out_of_memory", "the GPU is too small for this (injected by a test)", 0}};
  for (const auto& [fault, status, message, exit_code] : cases) {
    INFO(fault);
    const Answer answer = ask(problem + "--target h200 --plans run", double_with(fault + "@2"));
    CHECK(answer.exit_code == exit_code);
    check_engine_1_ran(answer);
    for (const Json& config : viable(answer, 2)) {
      const Json& run = config["run"];
      CHECK(config["plan"]["status"] == success);
      CHECK(run["status"] == status);
      CHECK(run["message"] == message);
      CHECK(run["context_lost"] == (fault == "cuda_error"));
      CHECK(config["time"].is_null());
      CHECK(contains(on_one_line(answer.text),
                     fmt::format("! {}: {}: {}", text_name(config), status, message)));
      if (status != "wrong_result") continue;
      const Json& output = run["outputs"][0];
      CHECK(output["right"] == false);
      CHECK(output["nan"] == (fault == "nan" || fault == "unwritten" ? 1 : 0));
      CHECK(output["outside"] == (fault == "outside" ? 1 : 0));
      CHECK(output["unwritten"] == (fault == "unwritten" ? 1 : 0));
    }
    // Two forms of the graph's tag; a GPU that is too small is no fault of cuDNN's.
    CHECK(answer.errata["rules"].size() == (exit_code == 0 ? 0 : 2 * viable(answer, 2).size()));
    for (const Json& rule : answer.errata["rules"]) {
      CHECK(rule["engine"] == 2);
      CHECK(rule["arch"] == "sm_90");
      CHECK(rule["cudnn_version_end"] == rule["cudnn_version_start"].get<int64_t>() + 1);
      CHECK(contains(rule["rule_id"], "cuDNN " + answer.result["cudnn"]["version"].get<std::string>()));
      CHECK(rule["seen"][0]["status"] == status);
      CHECK(rule["seen"][0]["message"] == message);
      CHECK(rule["also_blocks"] == Json::object());
    }
  }
}

TEST_CASE("results that differ from run to run are right, and both reports say that they differ", "[run]") {
  const Answer answer = ask(problem + "--target h200 --plans run", double_with("changing@2"));
  CHECK(answer.exit_code == 0);
  check_engine_1_ran(answer);
  for (const Json& config : viable(answer, 2)) {
    CHECK(config["run"]["status"] == "ok");
    CHECK(config["run"]["repeats"] == 1);
    CHECK(config["run"]["deterministic"] == false);
    CHECK(contains(on_one_line(answer.text),
                   fmt::format("! {}: results differ from run to run", text_name(config))));
  }
  CHECK(contains(answer.text, ", NONDETERMINISTIC "));
  CHECK(answer.errata["rules"].empty());
}

TEST_CASE("where every plan has the fault, it is the verdict and its root cause", "[run]") {
  struct Case {
    std::string fault, verdict, category, reason, explanation;
    int exit_code;
  };
  const Case cases[] = {
      {"wrong", "wrong_result", "wrong_result", "elements are wrong", "computes something else", 5},
      {"cuda_error", "error", "cuda_error", "CUDA_ERROR_ILLEGAL_ADDRESS", "no plan runs to its end", 4},
      {"out_of_memory", "error", "memory", "the GPU is too small", "has not the memory", 3}};
  for (const auto& [fault, verdict, category, reason, explanation, exit_code] : cases) {
    INFO(fault);
    const Answer answer = ask(problem + "--target h200 --plans run", double_with(fault));
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
    // Then what the heuristic did not propose was run too.
    size_t swept = 0;
    for (const Json& config : answer.result["engine_configs"]) {
      if (config["run"].is_null()) continue;
      CHECK(config["run"]["status"] == (category == "memory" ? "out_of_memory" : category));
      swept += config["modes"].empty() ? 1 : 0;
    }
    CHECK(swept > 0);
  }
}

TEST_CASE("a GPU that is too small for one config does not hide what became of another", "[run]") {
  const Answer answer = ask(problem + "--target h200 --plans run",
                            {{"ATTNPROBE_TEST_PLANS", "out_of_memory@2"},
                             {"ATTNPROBE_TEST_FAULT", "segfault@run of engine 1*"}});
  CHECK(answer.exit_code == 4);
  CHECK(answer.result["verdict"] == "crashed");
  CHECK(answer.result["environment_broken"] == false);
  CHECK(answer.result["root_cause"]["category"] == "crash");
  CHECK(answer.result["root_cause"]["engine"] == 1);
}

TEST_CASE("several workers build every plan that passes its check, and each runs", "[run]") {
  const Answer answer =
      ask(problem + "--target l40s --engines knobs --jobs 2 --plans run", double_with("right"));
  CHECK(answer.exit_code == 0);
  CHECK(answer.result["swept"] == true);
  for (const Json& engine : answer.result["engines"]) CHECK(engine["tried"] == engine["legal"]);
  for (const Json& config : answer.result["engine_configs"])
    CHECK(config["plan"].is_null() == (config["check"]["supported"] == false));
  check_engine_1_ran(answer);
  CHECK(viable(answer, 1).size() >= 8);  // fewer would be one worker's
  CHECK(answer.errata["rules"].empty());
}

// ---- what plans do to their process

TEST_CASE("a worker lost while it runs a plan costs that run; a fresh one goes on", "[run]") {
  struct Case {
    std::string fault, how, status;
  };
  const Case cases[] = {{"segfault", "SIGSEGV", "crashed"},
                        {"abort", "SIGABRT", "crashed"},
                        {"exit", "exit status 7", "crashed"},
                        {"hang", "SIGKILL", "timeout"}};
  for (const auto& [fault, how, status] : cases) {
    INFO(fault);
    const std::string limit = fault == "hang" ? " --timeout 5" : "";
    const Answer answer =
        ask(problem + "--target h200 --plans run" + limit, worker_fault(fault + "@run of engine 2*"));
    CHECK(answer.exit_code == 4);
    check_engine_1_ran(answer);
    for (const Json& config : viable(answer, 2)) {
      const std::string message = config["run"]["message"];
      INFO(message);
      CHECK(config["run"]["status"] == status);
      CHECK(contains(message, how));
      CHECK(contains(message, "it was at: " + at_stage("run", config)));
    }
    REQUIRE(answer.errata["rules"].size() == 2 * viable(answer, 2).size());
    CHECK(answer.errata["rules"][0]["seen"][0]["status"] == status);
  }
}

TEST_CASE("a worker lost while it builds a plan costs that plan; a fresh one goes on", "[run]") {
  struct Case {
    std::string fault, how, status;
  };
  const Case cases[] = {{"segfault", "SIGSEGV", "crashed"},
                        {"abort", "SIGABRT", "crashed"},
                        {"exit", "exit status 7", "crashed"},
                        {"hang", "SIGKILL", "timeout"}};
  for (const auto& [fault, how, status] : cases) {
    for (const std::string plans : {"run", "build"}) {
      INFO(fault << ", --plans " << plans);
      Environment environment = worker_fault(fault + "@plan of engine 2*");
      // Nothing runs when plans are only built, so that there the double is not needed.
      if (plans == "build") environment["ATTNPROBE_TEST_PLANS"] = std::nullopt;
      const std::string limit = fault == "hang" ? " --timeout 5" : "";
      const Answer answer = ask(problem + "--target h200 --plans " + plans + limit, environment);
      CHECK(answer.exit_code == 4);
      CHECK(answer.result["verdict"] == "supported");
      if (plans == "run") check_engine_1_ran(answer);
      for (const Json& config : viable(answer, 1)) CHECK(config["plan"]["status"] == success);
      for (const Json& config : viable(answer, 2)) {
        CHECK(config["plan"]["status"] == status);
        CHECK(config["run"].is_null());
        REQUIRE(config["plan"]["reasons"].size() == 1);
        const std::string reason = config["plan"]["reasons"][0]["reason"];
        INFO(reason);
        CHECK(contains(reason, how));
        CHECK(contains(reason, "it was at: " + at_stage("plan", config)));
      }
    }
  }
}

TEST_CASE("where every plan takes its process down, the verdict is crashed, not unsupported", "[run]") {
  for (const std::string plans : {"run", "build"}) {
    INFO(plans);
    const Answer answer =
        ask(problem + "--target h200 --plans " + plans, worker_fault("segfault@plan of engine *"));
    CHECK(answer.exit_code == 4);
    CHECK(answer.result["verdict"] == "crashed");
    CHECK(answer.result["root_cause"]["category"] == "crash");
    CHECK(contains(answer.result["root_cause"]["reason"], "SIGSEGV"));
    CHECK(answer.result["root_cause"]["engine"] == 2);
  }
}
