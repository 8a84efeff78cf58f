#include <unistd.h>

#include <array>
#include <thread>

#include "attention/fields.hpp"
#include "cudnn/library_info.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::report {
namespace {

Json graph_json(const campaign::Result& result) {
  const build::BuiltGraph& built = result.graph;
  if (built.graph.operations.empty()) return nullptr;
  Json ops = Json::array();
  for (const auto& operation : built.graph.operations) ops.push_back(operation_name(operation));
  Json json = {{"hash", hash(built.graph)}, {"pattern", result.has_spec() ? Json(name_of(built.pattern)) : Json()}};
  if (!built.choice.empty()) json["choice"] = built.choice;
  json["ops"] = ops;
  // Inside a single SDPA operation.
  for (const auto& operation : built.graph.score_operations) json["score_ops"].push_back(operation_name(operation));
  return json;
}

Json given_json(const campaign::GivenGraph& given) {
  return {{"description", given.description}, {"recognised", given.is_recognised}, {"notes", given.notes}};
}

Json target_json(const gpu::Target& target) {
  return {{"id", target.id}, {"name", target.name}, {"sm", target.sm}, {"kind", name_of(target.kind)}};
}

Json host_json() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return {{"name", name.data()}, {"cores", std::thread::hardware_concurrency()}};
}

}  // namespace

std::string tool_version() {
  return ATTNPROBE_VERSION;
}

Json to_json(const campaign::Result& result) {
  Json json = object_with_room(24);
  json["config"] = result.has_spec() ? to_json(result.config.spec) : Json();
  json["graph"] = graph_json(result);
  json["target"] = target_json(result.target);
  json["cudnn"] = {{"version", result.cudnn_version.is_known() ? Json(result.cudnn_version.text()) : Json()},
                   {"path", result.cudnn_path}};
  json["verdict"] = name_of(result.verdict);
  json["environment_broken"] = result.environment_broken;
  json["expect"] = name_of(expected(result));
  json["met"] = met_expectation(result);
  json["root_cause"] = result.root_cause ? Json(*result.root_cause) : Json();
  if (result.given) json["given"] = given_json(*result.given);
  if (result.crash)
    json["crash"] = {{"how", result.crash->how}, {"stage", result.crash->stage}, {"output", result.crash->output}};
  json["requirements"] = result.requirements;
  json["warnings"] = result.warnings;
  json["frontend"] = result.frontend ? Json(*result.frontend) : Json();
  const probe::WalkFindings& findings = result.findings;
  json["stages"] = Json{"check"};
  if (findings.plans_built) json["stages"].push_back("plan");
  if (findings.plans_run) json["stages"].push_back("run");
  json["failure"] = findings.failure ? Json(*findings.failure) : Json();
  json["modes"] = findings.modes;
  json["engine_configs"] = findings.engine_configs;
  json["engines"] = findings.engines;
  json["engine_count"] = findings.engine_count;
  json["swept"] = findings.swept;
  json["walk_ms"] = findings.walk_ms;
  if (!findings.log.empty()) json["log"] = findings.log;
  json["reproduce"] = result.reproduce;
  return json;
}

Json report_json(const Results& results, const std::optional<cudnn::LibraryInfo>& library) {
  Json json = {{"schema", "attnprobe/report/1"},
               {"tool", {{"name", "attnprobe"}, {"version", tool_version()}}},
               {"host", host_json()}};
  json["cudnn"] = library ? Json(*library) : Json();
  json["results"] = Json::array();
  for (const auto* result : results) json["results"].push_back(to_json(*result));
  return json;
}

}  // namespace attnprobe::report
