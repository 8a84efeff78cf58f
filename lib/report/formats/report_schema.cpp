// The JSON Schema of a report. Within a schema version, fields are added but never renamed, so unknown ones are
// allowed.
#include "answer/reasons.hpp"
#include "attention/config.hpp"
#include "report/formats/result_members.hpp"
#include "report/formats/schema_of.hpp"
#include "report/model/measurements.hpp"
#include "rules/frontend_engines.hpp"

namespace attnprobe::report {
namespace schema_of {

template <>
inline constexpr const char* definition<log::Reason> = "reason";
template <>
inline constexpr const char* definition<probe::ModeFindings> = "mode";
template <>
inline constexpr const char* definition<probe::EngineFindings> = "engine";
template <>
inline constexpr const char* definition<probe::EngineConfigFindings> = "engine_config";
template <>
inline constexpr const char* definition<probe::OutputFindings> = "output";
template <>
inline constexpr const char* definition<probe::RunFindings> = "run";
template <>
inline constexpr const char* definition<probe::TimeFindings> = "time";
template <>
inline constexpr const char* definition<rules::Source> = "source";

}  // namespace schema_of
namespace {

using namespace schema_of;

// Every property is required unless its name ends in "?".
Json object(const std::vector<std::pair<std::string, Json>>& properties) {
  Json json = {{"type", "object"}, {"properties", Json::object()}, {"required", Json::array()}};
  for (const auto& [key, schema] : properties) {
    const bool optional = key.back() == '?';
    const std::string name = optional ? key.substr(0, key.size() - 1) : key;
    json["properties"][name] = schema;
    if (!optional) json["required"].push_back(name);
  }
  return json;
}

// A struct whose integers are counts, except the named members.
template <class T>
Json counting(const std::vector<std::string>& except = {}) {
  Json json = of_struct<T>();
  for (auto& [name, schema] : json["properties"].items())
    if (schema == type("integer") && std::find(except.begin(), except.end(), name) == except.end()) schema = count();
  return json;
}

Json with(Json schema, const std::vector<std::pair<const char*, const char*>>& descriptions) {
  for (const auto& [name, text] : descriptions) schema.at("properties").at(name)["description"] = text;
  return schema;
}

// Members missing in older reports and matrices.
Json optional(Json schema, const std::vector<std::string>& names) {
  Json required = Json::array();
  for (const auto& name : schema["required"])
    if (std::find(names.begin(), names.end(), name.get<std::string>()) == names.end()) required.push_back(name);
  schema["required"] = std::move(required);
  return schema;
}

Json engine_config() {
  Json json = of_struct<probe::EngineConfigFindings>();
  json["properties"]["rank"] = {{"type", "object"}, {"additionalProperties", count()}};
  json["properties"]["plan"] = or_null(optional(of_struct<probe::PlanFindings>(), {"build_ms", "host_bytes"}));
  json["properties"]["works"] =
      described(type("boolean"), "passes every requested stage. Absent in a replay: a log has no stages");
  return optional(std::move(json), {"run", "time"});
}

// For a log: its graphs with the program's outcome for each, in the form of a walk's findings.
Json replay() {
  const Json agreement = object({{"target", type("string")},
                                 {"compared", type("boolean")},
                                 {"why_not", described(type("string"), "if not compared")},
                                 {"differences", described(array_of(type("string")), "none: as in the log")}});
  const Json executed = object({{"engine", type("integer")}, {"knobs", type("object")}, {"times", count()}});
  const Json graph =
      object({{"number", count()},
              {"description", type("string")},
              {"recognised", type("boolean")},
              {"hash", or_null(type("string"))},
              {"problem", described(or_null(type("string")), "why it could not be rebuilt")},
              {"notes", array_of(type("string"))},
              {"file", described(or_null(type("string")), "of several logs, the first one with this graph")},
              {"line", count()},
              {"finalized", described(count(), "how often it was built")},
              {"plans?", described(count(), "built with success")},
              {"plan_seconds?", described(type("number"), "time from start to end of finalize")},
              {"cudnn", or_null(type("string"))},
              {"device", type("string")},
              {"sm", count()},
              {"config", or_null(type("object"))},
              {"modes", array_of(reference("mode"))},
              {"engine_configs", array_of(reference("engine_config"))},
              {"executed", array_of(executed)},
              {"agreements", array_of(agreement)}});
  return object({{"file", type("string")},
                 {"problems", array_of(type("string"))},
                 {"cudnn_versions", array_of(type("string"))},
                 {"graphs", array_of(graph)}});
}

Json output() {
  Json json = with(counting<probe::OutputFindings>(), {{"elements", "compared; rows of padding are not"},
                                                       {"relative_l2", "norm of the error / norm of the reference"},
                                                       {"wrong", "elements with an error above the allowed one"},
                                                       {"outside", "elements written outside the tensor"}});
  return json;
}

Json time() {
  Json json = with(counting<probe::TimeFindings>(),
                   {{"discarded", "because the clock was throttled"}, {"outliers", "kept, but far from the median"}});
  for (const Measurement& measured : measurements())
    if (!measured.what.empty()) json.at("properties").at(std::string(measured.key))["description"] = measured.what;
  return json;
}

Json root_cause() {
  Json json = of_struct<answer::RootCause>();
  json["properties"]["category"] = one_of<answer::Category>();
  return json;
}

Json framework_schema() {
  Json json = with(
      of_struct<rules::GateAnswer>(),
      {{"title", "\"PyTorch 2.15.0\""},
       {"takes",
        "whether a call reaches cuDNN. `by_name`: only if the program selects it. `not_in_call`: the call cannot express the config. `wrong`: cuDNN computes something other than the call means. `unknown`: no rules of this release are known"},
       {"instead", "what runs then, if known"},
       {"refused_since", "the first release that refuses it; empty if the oldest known one does too"},
       {"taken_from", "the first later release that accepts it; empty for none"},
       {"by_name", "how a program selects cuDNN"},
       {"cudnn", "that the release pins; empty if it pins none, or none was read"},
       {"notes", "what was assumed of the call, and what follows the gate"}});
  with(json["properties"]["refusals"]["items"],
       {{"since", "the release that introduced the rule; empty: older than all known ones"}});
  return json;
}

Json result() {
  std::vector<std::pair<std::string, Json>> properties;
  for (const ResultMember& member : result_members())
    properties.emplace_back(std::string(member.key) + (member.is_optional ? "?" : ""), member.schema());
  return object(properties);
}

}  // namespace

Json report_schema() {
  Json schema =
      object({{"schema", {{"const", "attnprobe/report/1"}}},
              {"tool", object({{"name", type("string")}, {"version", type("string")}})},
              {"host?", type("object")},
              {"cudnn?", or_null(counting<cudnn::LibraryInfo>())},
              {"matrix?", described(type("object"), "of matrix and merge: the axes, in the order of the results")},
              {"results", array_of(reference("result"))},
              {"transformer_engine?", described(array_of(type("object")), "with --te: the answer to each call")},
              {"replay?", described(replay(), "of replay: what the log itself shows")}});
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "attnprobe report";
  schema["$defs"] = {
      {"reason", of_struct<log::Reason>()},
      {"engine_config", engine_config()},
      {"engine", counting<probe::EngineFindings>()},
      {"mode", counting<probe::ModeFindings>()},
      {"output", output()},
      {"run", counting<probe::RunFindings>()},
      {"time", time()},
      {"root_cause", root_cause()},
      {"source", of_struct<rules::Source>()},
      {"requirement", of_struct<rules::Requirement>()},
      {"known_bug", with(of_struct<rules::KnownBug>(), {{"fixed_in", "empty if no fixed version is known"}})},
      {"frontend", of_struct<rules::FrontendAnswer>()},
      {"frontend_engine",
       with(of_struct<rules::FrontendEngine>(),
            {{"switch_on", "the environment variable that enables it; empty if it is enabled by default"}})},
      {"framework", framework_schema()},
      {"obstacle", of_struct<answer::Obstacle>()},
      {"result", result()}};
  return schema;
}

}  // namespace attnprobe::report
