// Runs plans on a machine without a GPU: the interpreter of graphs replaces cuDNN's execution, and computes or dies as
// requested (lib/worker/test_faults.hpp). All other code is the real program's.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test {

inline const std::string small_problem = "--heads 2 --seqlen 64 --head-dim 64 --pattern sdpa_composite ";
/// Engines 1 and 2 support this config on an H200. Mode A proposes several engine configs of both, engine 2's first;
/// FALLBACK proposes one of each without knobs, engine 1's first.
inline const std::string on_h200 = small_problem + "--target h200 ";
inline const std::string plan_built = "CUDNN_STATUS_SUCCESS";

/// One result, and all output of the program about it.
struct Answer {
  int exit_code = -1;
  Json result, errata;
  std::string text;  ///< the text report, with its line breaks removed
};

inline Environment double_with(const std::string& plans) {
  return {{"ATTNPROBE_TEST_PLANS", plans}};
}

inline Environment worker_fault(const std::string& fault, const std::string& plans = "right") {
  return {{"ATTNPROBE_TEST_PLANS", plans}, {"ATTNPROBE_TEST_FAULT", fault}};
}

/// Validates `json` in the folder against `attnprobe schema report`.
inline void check_schema(const std::string& folder) {
  const Run valid = shell(fmt::format(
      R"({0} schema report > {1}/schema && python3 -c 'import json, jsonschema
schema, report = (json.load(open("{1}/" + name)) for name in ("schema", "json"))
jsonschema.validate(report, schema, cls=jsonschema.Draft202012Validator)')",
      program(), folder));
  INFO(valid.err);
  CHECK(valid.exit_code == 0);
}

inline std::string on_one_line(const std::string& text) {
  std::string line;
  for (const char c : text)
    if (c != ' ' && c != '\n')
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  return line;
}

/// Asks for one config on one target. The report must be valid for any behaviour of the plans.
inline Answer ask(const std::string& arguments, const Environment& environment) {
  const TemporaryFolder folder;
  const std::string path = folder.path();
  const Run run = run_attnprobe(
      fmt::format("{0} --report json={1}/json --report table={1}/text --errata {1}/errata", arguments, path),
      environment);
  INFO(arguments << "\n" << run.err);
  REQUIRE(std::filesystem::file_size(path + "/json") > 0);
  check_schema(path);
  const Json report = Json::parse(read_text(path + "/json"));
  REQUIRE(report["results"].size() == 1);
  return {run.exit_code, report["results"][0], Json::parse(read_text(path + "/errata")),
          on_one_line(read_text(path + "/text"))};
}

/// The engine's configs that pass cuDNN's check, at least one.
inline std::vector<Json> viable(const Answer& answer, int64_t engine) {
  std::vector<Json> configs;
  for (const Json& config : answer.result["engine_configs"])
    if (config["engine"] == engine && config["check"]["supported"] == true) configs.push_back(config);
  REQUIRE_FALSE(configs.empty());
  return configs;
}

inline void check_ran(const Json& config) {
  INFO(config.dump());
  REQUIRE(config["plan"].is_object());
  CHECK(config["plan"]["status"] == plan_built);
  REQUIRE(config["run"].is_object());
  CHECK(config["run"]["status"] == "ok");
  CHECK(config["run"]["message"] == "");
  REQUIRE(config["run"]["outputs"].size() == 1);
  CHECK(config["run"]["outputs"][0]["right"] == true);
  CHECK(config["run"]["deterministic"] == true);
  REQUIRE(config["time"].is_object());
  CHECK(config["time"]["method"] == "none: a test's stand-in for a plan");
}

/// This engine is not affected by the other's failure, and makes the graph supported.
inline void check_ran(const Answer& answer, int64_t engine) {
  for (const Json& config : viable(answer, engine)) check_ran(config);
  CHECK(answer.result["verdict"] == "supported");
  CHECK(answer.result["root_cause"].is_null());
  CHECK(answer.result["stages"] == Json({"check", "plan", "run"}));
}

}  // namespace attnprobe::test
