#include <unistd.h>

#include <array>
#include <thread>

#include "attention/fields.hpp"
#include "cudnn/library_info.hpp"
#include "gpu/comparisons.hpp"
#include "report/formats/notes.hpp"
#include "report/formats/result_members.hpp"
#include "report/formats/schema_of.hpp"
#include "report/formats/screen_text.hpp"

namespace attnprobe {
namespace report {
/// The stages requested for engine configs.
enum class Stage { check, plan, run };
ATTNPROBE_ENUM(Stage, check, plan, run)
}  // namespace report
}  // namespace attnprobe

namespace attnprobe::report {
namespace {

using Properties = std::vector<std::pair<std::string, Json>>;

Json object_schema(const Properties& required, const Properties& optional = {}) {
  Json json = {{"type", "object"}, {"properties", Json::object()}, {"required", Json::array()}};
  for (const auto& [key, value] : required) {
    json["properties"][key] = value;
    json["required"].push_back(key);
  }
  for (const auto& [key, value] : optional) json["properties"][key] = value;
  return json;
}

Json graph_json(const answer::Answer& result) {
  const build::BuiltGraph& built = result.graph;
  if (built.graph.operations.empty()) return nullptr;
  Json ops = Json::array();
  for (const auto& operation : built.graph.operations) ops.push_back(operation_name(operation));
  Json json = {{"hash", hash(built.graph)}, {"pattern", result.has_spec() ? Json(name_of(built.pattern)) : Json()}};
  if (!built.choice.empty()) json["choice"] = built.choice;
  json["ops"] = ops;
  // The sub-graph inside a unified SDPA operation.
  for (const auto& operation : built.graph.score_operations) json["score_ops"].push_back(operation_name(operation));
  return json;
}

Json graph_schema() {
  return object_schema(
      {{"hash", {{"type", "string"}, {"pattern", "^[0-9a-f]{32}$"}}},
       {"pattern", schema_of::described(schema_of::or_null(schema_of::type("string")),
                                        "null: not an attention that attnprobe knows")},
       {"ops", schema_of::array_of(schema_of::type("string"))}},
      {{"choice", schema_of::type("string")}, {"score_ops", schema_of::array_of(schema_of::type("string"))}});
}

Json given_json(const answer::GivenGraph& given) {
  return {{"description", given.description}, {"recognised", given.is_recognised}, {"notes", given.notes}};
}

Json given_schema() {
  return object_schema(
      {{"description", schema_of::type("string")},
       {"recognised", schema_of::described(schema_of::type("boolean"), "the config builds this exact graph")},
       {"notes", schema_of::array_of(schema_of::type("string"))}});
}

Json ways_out_json(const std::vector<answer::WayOut>& ways) {
  Json list = Json::array();
  for (const auto& way : ways)
    list.push_back({{"changes", way.changes},
                    {"kinds", way.kinds},
                    {"text", text_of(way)},
                    {"engine", way.engine},
                    {"compiled", way.compiled},
                    {"work", way.work},
                    {"memory", way.memory},
                    {"config", to_json(way.spec)},
                    {"reproduce", way.reproduce}});
  return list;
}

Json ways_out_schema() {
  using schema_of::described;
  using schema_of::type;
  return schema_of::array_of(object_schema(
      {{"changes", described(schema_of::array_of(type("string")), "one change, or two together")},
       {"kinds", schema_of::array_of(type("string"))},
       {"text", type("string")},
       {"engine", described(type("integer"), "of the first choice")},
       {"compiled", described(type("boolean"), "whether its plan was also built")},
       {"work", described(type("number"), "floating point operations as a multiple of those of the asked config")},
       {"memory",
        described(type("number"), "elements of Q, K, V, O and the bias as a multiple of those of the asked config")},
       {"config", described(type("object"), "with the changes")},
       {"reproduce", type("string")}}));
}

Json target_json(const gpu::Target& target) {
  Json json{{"id", target.id}, {"name", target.name}, {"sm", target.sm}, {"kind", name_of(target.kind)}};
  if (target.kind == gpu::Kind::simulated) json["compared"] = gpu::compared_text(target);
  return json;
}

Json target_schema() {
  return object_schema(
      {{"id", schema_of::type("string")},
       {"name", schema_of::type("string")},
       {"sm", schema_of::count()},
       {"kind", schema_of::one_of<gpu::Kind>()},
       {"compared", schema_of::described(schema_of::type("string"),
                                         "for a simulated GPU: whether it was ever compared with a real one")}});
}

Json cudnn_json(const answer::Answer& result) {
  return {{"version", result.cudnn_version.is_known() ? Json(result.cudnn_version.text()) : Json()},
          {"path", result.cudnn_path}};
}

Json crash_json(const answer::Crash& crash) {
  return {{"how", crash.how}, {"stage", crash.stage.text}, {"output", crash.output}};
}

Json crash_schema() {
  const Json text = schema_of::type("string");
  return object_schema({{"how", text}, {"stage", text}, {"output", text}});
}

Json failure_schema() {
  const Json text = schema_of::type("string");
  return object_schema({{"stage", text}, {"message", text}, {"cudnn", schema_of::type("object")}});
}

Json stages_json(const probe::WalkFindings& findings) {
  Json stages = Json::array({name_of(Stage::check)});
  if (findings.plans_built) stages.push_back(name_of(Stage::plan));
  if (findings.plans_run) stages.push_back(name_of(Stage::run));
  return stages;
}

Json engine_configs_json(const probe::WalkFindings& findings) {
  Json list = Json::array();
  for (const auto& config : findings.engine_configs) {
    Json& json = list.emplace_back(config);
    json["works"] = works(config, findings);
  }
  return list;
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

const std::vector<ResultMember>& result_members() {
  using answer::Answer;
  using namespace schema_of;
  static const std::vector<ResultMember> members{
      {"config", false, [] { return described(or_null(type("object")), "null for a graph that no config builds"); },
       [](const Answer& r, Json& j) { j["config"] = r.has_spec() ? to_json(r.config.spec) : Json(); }},
      {"graph", false, [] { return or_null(graph_schema()); },
       [](const Answer& r, Json& j) { j["graph"] = graph_json(r); }},
      {"target", false, target_schema, [](const Answer& r, Json& j) { j["target"] = target_json(r.target); }},
      {"cudnn", false,
       [] {
         return object_schema({{"version", or_null(type("string"))}, {"path", type("string")}});
       },
       [](const Answer& r, Json& j) { j["cudnn"] = cudnn_json(r); }},
      {"verdict", false, one_of<answer::Verdict>, [](const Answer& r, Json& j) { j["verdict"] = name_of(r.verdict); }},
      {"usable", false,
       [] {
         return described(or_null(one_of<answer::Usable>()),
                          "the answer in one word; null if the machine or an error left it open");
       },
       [](const Answer& r, Json& j) { put(j["usable"], r.usable); }},
      {"account", false,
       [] {
         return described(type("string"),
                          "the reason in one line: the working engine config, the obstacles or the reason");
       },
       [](const Answer& r, Json& j) { j["account"] = account_text(r); }},
      {"but", true, [] { return described(array_of(reference("obstacle")), "the obstacles, for usable but"); },
       [](const Answer& r, Json& j) { j["but"] = r.but; }},
      {"from", true,
       [] {
         return described(
             object_schema({{"cudnn", type("string")}, {"asked", type("boolean")}, {"text", type("string")}}),
             "the first cuDNN that supports the config on this target. Asked (the next older installed one refuses it) or by the version rules; absent if unknown");
       },
       [](const Answer& r, Json& j) {
         if (r.from)
           j["from"] = {{"cudnn", r.from->version.text()}, {"asked", r.from->asked}, {"text", text_of(*r.from)}};
       }},
      {"by_rule", true,
       [] {
         return described(
             type("boolean"),
             "the version rules say this; cuDNN was not asked, because it is older than 9.8 or not installed");
       },
       [](const Answer& r, Json& j) {
         if (r.by_rule) j["by_rule"] = true;
       }},
      {"environment_broken", false, [] { return type("boolean"); },
       [](const Answer& r, Json& j) { j["environment_broken"] = r.environment_broken; }},
      {"expect", false, one_of<attention::ExpectedVerdict>,
       [](const Answer& r, Json& j) { j["expect"] = name_of(expected(r)); }},
      {"expect_given", false,
       [] { return described(type("boolean"), "whether the config states an expectation; the default is supported"); },
       [](const Answer& r, Json& j) { j["expect_given"] = r.config.spec.expect.is_given; }},
      {"met", false, [] { return type("boolean"); }, [](const Answer& r, Json& j) { j["met"] = met_expectation(r); }},
      {"severity", false,
       [] { return described(one_of<answer::Severity>(), "the severity, which determines the exit code"); },
       [](const Answer& r, Json& j) { j["severity"] = name_of(r.severity); }},
      {"root_cause", false, [] { return or_null(reference("root_cause")); },
       [](const Answer& r, Json& j) { put(j["root_cause"], r.root_cause); }},
      {"ways_out", true,
       [] {
         return described(ways_out_schema(), "changes that give a yes with the same cuDNN and GPU, cheapest first");
       },
       [](const Answer& r, Json& j) {
         if (!r.ways_out.empty()) j["ways_out"] = ways_out_json(r.ways_out);
       }},
      {"given", true, [] { return described(given_schema(), "for a graph of another program"); },
       [](const Answer& r, Json& j) {
         if (r.given) j["given"] = given_json(*r.given);
       }},
      {"crash", true, crash_schema,
       [](const Answer& r, Json& j) {
         if (r.crash) j["crash"] = crash_json(*r.crash);
       }},
      {"requirements", true,
       [] {
         return described(
             array_of(reference("requirement")),
             "what the config needs and this cuDNN or GPU lacks by the version rules; never decides the verdict");
       },
       [](const Answer& r, Json& j) { j["requirements"] = r.requirements; }},
      {"warnings", true,
       [] {
         return described(array_of(reference("known_bug")), "known bugs that affect the config on this cuDNN and GPU");
       },
       [](const Answer& r, Json& j) { j["warnings"] = r.warnings; }},
      {"frontend", true,
       [] {
         return described(or_null(reference("frontend")),
                          "cudnn-frontend's answer before it asks cuDNN; null for patterns that it does not have");
       },
       [](const Answer& r, Json& j) { put(j["frontend"], r.frontend); }},
      {"frontend_engines", true,
       [] {
         return described(
             array_of(reference("frontend_engine")),
             "if cuDNN refuses: cudnn-frontend's own engines that support the config according to its rules. Graphs built in Python may use them; C++ programs (PyTorch, Transformer Engine, XLA) do not");
       },
       [](const Answer& r, Json& j) {
         if (const auto engines = frontend_engines_beside(r); !engines.empty()) j["frontend_engines"] = engines;
       }},
      {"frameworks", true,
       [] {
         return described(array_of(reference("framework")),
                          "with --framework: what each does with the config before cuDNN sees it");
       },
       [](const Answer& r, Json& j) {
         if (!r.frameworks.empty()) j["frameworks"] = r.frameworks;
       }},
      {"stages", false, [] { return array_of(one_of<Stage>()); },
       [](const Answer& r, Json& j) { j["stages"] = stages_json(r.findings); }},
      {"failure", false, [] { return or_null(failure_schema()); },
       [](const Answer& r, Json& j) { put(j["failure"], r.findings.failure); }},
      {"modes", false, [] { return array_of(reference("mode")); },
       [](const Answer& r, Json& j) { j["modes"] = r.findings.modes; }},
      {"engine_configs", false, [] { return array_of(reference("engine_config")); },
       [](const Answer& r, Json& j) { j["engine_configs"] = engine_configs_json(r.findings); }},
      {"engines", false, [] { return array_of(reference("engine")); },
       [](const Answer& r, Json& j) { j["engines"] = r.findings.engines; }},
      {"engine_count", false, count, [](const Answer& r, Json& j) { j["engine_count"] = r.findings.engine_count; }},
      {"swept", false, [] { return type("boolean"); }, [](const Answer& r, Json& j) { j["swept"] = r.findings.swept; }},
      {"walk_ms", true,
       [] { return described(type("number"), "not in a matrix, whose reports are the same each time"); },
       [](const Answer& r, Json& j) { j["walk_ms"] = r.findings.walk_ms; }},
      {"gpu_ms", true,
       [] {
         return described(type("number"), "time of its turn on the GPU if plans ran, including data and reference");
       },
       [](const Answer& r, Json& j) {
         if (r.findings.plans_run) j["gpu_ms"] = r.findings.gpu_ms;
       }},
      {"log", true, [] { return type("string"); },
       [](const Answer& r, Json& j) {
         if (!r.findings.log.empty()) j["log"] = r.findings.log;
       }},
      {"reproduce", false, [] { return described(type("string"), "the command that asks this again"); },
       [](const Answer& r, Json& j) { j["reproduce"] = r.reproduce; }},
  };
  return members;
}

Json to_json(const answer::Answer& result) {
  const auto& members = result_members();
  Json json = object_with_room(members.size());
  for (const ResultMember& member : members) member.put(result, json);
  return json;
}

Json report_json(const Results& results, const std::optional<cudnn::LibraryInfo>& library) {
  Json json = {{"schema", "attnprobe/report/1"},
               {"tool", {{"name", "attnprobe"}, {"version", tool_version()}}},
               {"host", host_json()}};
  put(json["cudnn"], library);
  json["results"] = Json::array();
  for (const auto* result : results) json["results"].push_back(to_json(*result));
  return json;
}

}  // namespace attnprobe::report
