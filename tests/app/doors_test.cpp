// The same question gives the same record in every way: command line, matrix, library, request.
#include <fmt/format.h>

#include <fstream>

#include "attnprobe.hpp"
#include "catch.hpp"
#include "service/rpc.hpp"
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
    if (config.contains("plan") && config["plan"].is_object()) config["plan"].erase("build_ms");
  return result;
}

Json of_command_line(const Asked& one, const std::string& more) {
  const Run run = run_attnprobe(fmt::format("--config - {} --format json {}", options_of(one), more), {}, one.config);
  INFO(run.err);
  return record(run.json().at("results").at(0));
}

Json of_request(service::Rpc& rpc, const Asked& one) {
  Json params{{"config", Json::parse(one.config)}, {"target", one.target}};
  if (*one.cudnn != 0) params["cudnn"] = one.cudnn;
  if (*one.framework != 0) params["framework"] = one.framework;
  const Json request{{"jsonrpc", "2.0"}, {"id", 1}, {"method", "probe"}, {"params", params}};
  return record(Json::parse(rpc.answer(request.dump())).at("result").at("results").at(0));
}

attnprobe::Answer of_library(const Asked& one) {
  Options options;
  options.cudnn = one.cudnn;
  options.frameworks = one.framework;
  return ask(attention::parse_configs(one.config, "test"), find_targets(one.target), options).at(0);
}

// Compares the library's answer with a record.
void check_same(const attnprobe::Answer& answer, const Json& record) {
  CHECK(Json(answer.usable ? Json(name_of(*answer.usable)) : Json()) == record.at("usable"));
  CHECK(name_of(answer.verdict) == record.at("verdict").get<std::string>());
  CHECK(Json(answer.but) == record.at("but"));
  CHECK((answer.root_cause ? Json(*answer.root_cause) : Json()) == record.at("root_cause"));
  CHECK(answer.by_rule == record.value("by_rule", false));
  CHECK(answer.from == (record.contains("from") ? record["from"].at("text").get<std::string>() : ""));
  CHECK(answer.met == record.at("met").get<bool>());
  CHECK(answer.modes.size() == record.at("modes").size());
  CHECK(answer.engine_configs.size() == record.at("engine_configs").size());
  std::vector<std::string> ways;
  for (const Json& way : record.value("ways_out", Json::array())) ways.push_back(way.at("text"));
  CHECK(answer.ways_out == ways);
  CHECK(answer.reproduce == record.at("reproduce").get<std::string>());
}

}  // namespace

TEST_CASE("command line, library and request give the same record", "[app][api][service]") {
  service::Rpc rpc("");
  for (const Asked& one : asked) {
    INFO(one.config << " on " << one.target);
    const Json printed = of_command_line(one, "");
    CHECK(of_request(rpc, one) == printed);
    check_same(of_library(one), printed);
  }
}

TEST_CASE("a matrix gives the record of a command line that goes as far", "[app]") {
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
    // Each has its own command that repeats the question.
    for (Json* json : {&asked_in_matrix, &printed}) json->erase("reproduce");
    CHECK(asked_in_matrix == printed);
  }
}

}  // namespace attnprobe::test::doors_test
