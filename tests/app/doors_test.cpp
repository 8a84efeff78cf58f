// The same question gives the same record through every interface: command line, matrix, C++ and C library.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <memory>

#include "attention/random_config.hpp"
#include "attnprobe.hpp"
#include "catch.hpp"
#include "libraries.hpp"
#include "service/c_api.h"
#include "support.hpp"

namespace attnprobe::test::doors_test {
namespace {

struct Asked {
  const char *config, *target, *cudnn, *framework;
};

// A yes, a no with ways out, a but from a framework's gate, and two answers by rule, one of them a refusal.
const Asked asked[] = {
    {R"({"name": "a", "heads": 8, "seqlen": 256, "head_dim": 64, "dtype": "bf16"})", "h200", "", ""},
    {R"({"name": "a", "heads": 8, "seqlen": 256, "head_dim": 100, "pass": "bprop", "mask": "causal"})", "l40s", "", ""},
    {R"({"name": "a", "heads": 8, "seqlen": 256, "head_dim": 64, "pass": "fprop_train", "dropout": 0.1})", "h100", "",
     "torch==2.15"},
    {R"({"name": "a", "heads": 8, "seqlen": 512, "head_dim": 64})", "h100", "9.1", ""},
    {R"({"name": "a", "heads": 8, "seqlen": 512, "head_dim": 64})", "b200", "9.1", ""},
};

std::string options_of(const Asked& one) {
  return fmt::format("--target {}{}{}{}{}", one.target, *one.cudnn == 0 ? "" : " --cudnn ", one.cudnn,
                     *one.framework == 0 ? "" : " --framework ", one.framework);
}

// Drops measured times.
Json record(Json result) {
  result.erase("walk_ms");
  for (Json& config : result["engine_configs"])
    if (config.contains("plan") && config["plan"].is_object())
      for (const char* key : {"build_ms", "host_bytes"}) config["plan"].erase(key);
  return result;
}

Json of_command_line(const Asked& one, const std::string& more) {
  const Run run = run_attnprobe(fmt::format("--config - {} --format json {}", options_of(one), more), {}, one.config);
  INFO(run.err);
  return record(run.json().at("results").at(0));
}

using Session = std::unique_ptr<attnprobe_session, decltype(&attnprobe_close)>;

Json request_of(const Json& params) {
  return {{"jsonrpc", "2.0"}, {"id", 1}, {"method", "probe"}, {"params", params}};
}

// Asks like a C program.
Json of_request(const Session& session, const Json& params) {
  const std::unique_ptr<char, decltype(&attnprobe_free)> answer(
      attnprobe_call(session.get(), request_of(params).dump().c_str()), attnprobe_free);
  REQUIRE(answer != nullptr);
  return Json::parse(answer.get()).at("result").at("results");
}

Json of_request(const Session& session, const Asked& one) {
  Json params{{"config", Json::parse(one.config)}, {"target", one.target}};
  if (*one.cudnn != 0) params["cudnn"] = one.cudnn;
  if (*one.framework != 0) params["framework"] = one.framework;
  return record(of_request(session, params).at(0));
}

attnprobe::Answer of_library(const Asked& one) {
  Options options;
  options.cudnn = one.cudnn;
  if (*one.framework != 0) options.frameworks = {one.framework};
  return ask(one.config, {one.target}, options).at(0);
}

// Compares the library's answer with a record.
void check_same(const attnprobe::Answer& answer, const Json& wanted) {
  CHECK(record(Json::parse(answer.record)) == wanted);
  CHECK(Json(answer.usable ? Json(name_of(*answer.usable)) : Json()) == wanted.at("usable"));
  CHECK(answer.account == wanted.at("account").get<std::string>());
  CHECK((answer.root_cause ? Json(answer.root_cause->explanation) : Json()) ==
        (wanted.at("root_cause").is_null() ? Json() : wanted.at("root_cause").at("explanation")));
  REQUIRE(answer.engine_configs.size() == wanted.at("engine_configs").size());
  for (size_t i = 0; i < answer.engine_configs.size(); ++i)
    CHECK(answer.engine_configs[i].works == wanted["engine_configs"][i].at("works").get<bool>());
}

// The cells of a matrix, in the order of a command line: configs, then targets.
std::vector<Json> cells_of(const std::filesystem::path& folder, size_t configs, size_t targets) {
  std::vector<Json> cells(configs * targets);
  std::ifstream lines(folder / "cells.jsonl");
  std::string line;
  std::getline(lines, line);  // the header
  while (std::getline(lines, line)) {
    Json cell = record(Json::parse(line));
    const Json place = cell.at("cell");
    cell.erase("cell");
    cells.at(place.at(0).get<size_t>() * targets + place.at(1).get<size_t>()) = std::move(cell);
  }
  return cells;
}

// A matrix does not keep its answers, so a cell does not name the run's other targets; the page shows them.
void erase_other_targets(Json& record) {
  if (record.at("root_cause").is_null()) return;
  auto& advice = record["root_cause"]["advice"].get_ref<Json::array_t&>();
  std::erase_if(advice,
                [](const Json& one) { return one.get<std::string>().starts_with("the same config is supported on"); });
}

std::string program_folder() {
  return std::filesystem::path(program()).parent_path().string();
}

constexpr const char* in_python_program = R"(import attnprobe, json, sys
file, targets, cudnn = sys.argv[1:]
print(json.dumps(attnprobe.probe(file, target=targets, cudnn=cudnn, quick=True, plans="none").raw)))";

// The number of random configs; set ATTNPROBE_DOORS for a study.
size_t random_count() {
  const char* given = std::getenv("ATTNPROBE_DOORS");
  return given == nullptr ? 12 : std::stoul(given);
}

}  // namespace

TEST_CASE("random configs give the same record through every interface", "[app][slow]") {
  const std::string targets = "a100,h100,b200", how = "--quick --plans none --format json";
  constexpr size_t target_count = 3;
  const Json nothing = Json::array();
  const TemporaryFolder folder;
  Json configs = Json::array();
  for (size_t seed = 0; seed < random_count(); ++seed) {
    configs.push_back(attention::random_newer_config(91'000'000 + seed));
    configs.back()["name"] = fmt::format("r{}", seed);
  }
  const std::string file = (folder.path() / "configs.json").string();
  std::ofstream(file) << Json{{"configs", configs}};
  for (const auto& [version, cudnn] : three_libraries()) {
    INFO(version.text());
    const std::string asked = fmt::format("{} --target {} --cudnn {}", file, targets, cudnn);
    const Json printed = run_attnprobe(fmt::format("{} {}", asked, how)).json().at("results");
    REQUIRE(printed.size() == configs.size() * target_count);

    const Json params{{"config", configs}, {"target", targets}, {"cudnn", cudnn}, {"quick", true}, {"plans", "none"}};
    const Session session(attnprobe_open(""), attnprobe_close);
    const Json called = of_request(session, params);
    const Json served =
        Json::parse(run_attnprobe("serve", {}, request_of(params).dump() + "\n").out).at("result").at("results");
    const Json in_python =
        shell(fmt::format("python3 -c '{}' {} {} {}", in_python_program, file, targets, cudnn),
              {{"PYTHONPATH", "app/python"}, {"ATTNPROBE_LIBRARY", program_folder() + "/libattnprobe.so"}})
            .json()
            .at("results");
    Options options;
    options.cudnn = cudnn;
    options.plans = Plans::none;
    options.quick = true;
    const auto answers = ask(Json{{"configs", configs}}.dump(), {"a100", "h100", "b200"}, options);
    const std::string out = (folder.path() / "matrix").string();
    run_attnprobe(fmt::format("matrix {} --overwrite --out {}", asked, out));
    const auto cells = cells_of(out, configs.size(), target_count);
    for (size_t i = 0; i < printed.size(); ++i) {
      INFO(printed[i].at("reproduce"));
      Json wanted = record(printed[i]);
      CHECK(Json::diff(record(called.at(i)), wanted) == nothing);
      CHECK(Json::diff(record(served.at(i)), wanted) == nothing);
      CHECK(Json::diff(record(in_python.at(i)), wanted) == nothing);
      check_same(answers.at(i), wanted);
      Json cell = cells.at(i);
      for (Json* json : {&cell, &wanted}) json->erase("reproduce");
      erase_other_targets(wanted);
      CHECK(Json::diff(cell, wanted) == nothing);
    }
  }
}

TEST_CASE("command line, C++ library and C library give the same record", "[app][api][service]") {
  const Session session(attnprobe_open(""), attnprobe_close);
  for (const Asked& one : asked) {
    INFO(one.config << " on " << one.target);
    const Json printed = of_command_line(one, "");
    CHECK(of_request(session, one) == printed);
    check_same(of_library(one), printed);
  }
}

TEST_CASE("a matrix gives the same record as a command line with the same stages", "[app]") {
  const TemporaryFolder folder;
  for (const Asked& one : asked) {
    if (*one.cudnn != 0) continue;  // a matrix asks cuDNN
    INFO(one.config << " on " << one.target);
    const Run run = run_attnprobe(
        fmt::format("matrix - {} --overwrite --out {}", options_of(one), folder.path().string()), {}, one.config);
    INFO(run.err);
    std::ifstream cells(folder.path() / "cells.jsonl");
    std::string header, cell;
    std::getline(cells, header);
    REQUIRE(std::getline(cells, cell));
    Json asked_in_matrix = record(Json::parse(cell));
    asked_in_matrix.erase("cell");
    Json printed = of_command_line(one, "--quick --plans none");
    // Each interface has its own command that repeats the question.
    for (Json* json : {&asked_in_matrix, &printed}) json->erase("reproduce");
    CHECK(asked_in_matrix == printed);
  }
}

}  // namespace attnprobe::test::doors_test
