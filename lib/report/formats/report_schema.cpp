// The JSON Schema of a report. Within a version fields are added and never renamed, so unknown ones are allowed.
#include "attention/config.hpp"
#include "diagnose/reasons.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::report {
namespace {

Json type(const char* name) {
  return {{"type", name}};
}
Json or_null(const Json& schema) {
  return {{"anyOf", Json::array({schema, type("null")})}};
}
Json array_of(const Json& items) {
  return {{"type", "array"}, {"items", items}};
}
Json reference(const char* name) {
  return {{"$ref", std::string("#/$defs/") + name}};
}
Json count() {
  return {{"type", "integer"}, {"minimum", 0}};
}

template <class E>
Json one_of() {
  return {{"type", "string"}, {"enum", names_of<E>()}};
}

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

Json engine_config() {
  const Json ranks = {{"type", "object"}, {"additionalProperties", count()}};
  const Json knobs = {{"type", "object"}, {"additionalProperties", type("integer")}};
  const Json plan = object({{"status", type("string")},
                            {"build_ms?", type("number")},
                            {"loaded", type("boolean")},
                            {"reasons", array_of(reference("reason"))}});
  return object({{"modes", array_of(type("string"))},
                 {"rank", ranks},
                 {"engine", type("integer")},
                 {"knobs", knobs},
                 {"check", object({{"supported", type("boolean")}, {"status", type("string")}})},
                 {"reasons", array_of(reference("reason"))},
                 {"workspace_bytes", or_null(type("integer"))},
                 {"shared_memory_bytes", or_null(type("integer"))},
                 {"numerical_notes", array_of(type("string"))},
                 {"behavior_notes", array_of(type("string"))},
                 {"plan", or_null(plan)},
                 {"run?", or_null(reference("run"))},
                 {"time?", or_null(reference("time"))}});
}

Json described(Json schema, const char* text);

// Of a log: its graphs with what the program got for each, in the form of a walk's findings.
Json replay() {
  const Json agreement = object({{"target", type("string")},
                                 {"compared", type("boolean")},
                                 {"why_not", described(type("string"), "if not compared")},
                                 {"differences", described(array_of(type("string")), "none: as in the log")}});
  const Json executed = object({{"engine", type("integer")}, {"knobs", type("object")}, {"times", count()}});
  const Json graph = object({{"number", count()},
                             {"description", type("string")},
                             {"recognised", type("boolean")},
                             {"hash", or_null(type("string"))},
                             {"problem", described(or_null(type("string")), "why it could not be rebuilt")},
                             {"notes", array_of(type("string"))},
                             {"line", count()},
                             {"finalized", described(count(), "how often it was made")},
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

Json described(Json schema, const char* text) {
  schema["description"] = text;
  return schema;
}

Json number() {
  return or_null(type("number"));
}

Json output() {
  return object({{"tensor", type("string")},
                 {"data_type", type("string")},
                 {"elements", described(count(), "compared; rows of padding are not")},
                 {"max_abs_err", number()},
                 {"max_rel_err", number()},
                 {"relative_l2", described(number(), "norm of the error / norm of the reference")},
                 {"allowed_l2", type("number")},
                 {"allowed_abs", type("number")},
                 {"allowed_rel", type("number")},
                 {"nan", count()},
                 {"inf", count()},
                 {"wrong", described(count(), "elements beyond what is allowed")},
                 {"unwritten", count()},
                 {"outside", described(count(), "elements written that are not the tensor's")},
                 {"first_wrong", array_of(type("integer"))},
                 {"first_wrong_value", number()},
                 {"first_wrong_reference", number()},
                 {"right", type("boolean")}});
}

Json run() {
  return object({{"status", one_of<probe::RunStatus>()},
                 {"message", type("string")},
                 {"max_abs_err", number()},
                 {"max_rel_err", number()},
                 {"relative_l2", number()},
                 {"reference", type("string")},
                 {"outputs", array_of(reference("output"))},
                 {"repeats", count()},
                 {"deterministic", or_null(type("boolean"))},
                 {"data", type("string")},
                 {"context_lost", type("boolean")}});
}

Json time() {
  return object(
      {{"status", one_of<probe::TimeStatus>()},
       {"method", type("string")},
       {"profile", type("string")},
       {"median_ms", number()},
       {"min_ms", number()},
       {"mean_ms", number()},
       {"max_ms", number()},
       {"stdev_ms", number()},
       {"q1_ms", number()},
       {"q3_ms", number()},
       {"iqr_ms", number()},
       {"noise", described(number(), "stdev / mean")},
       {"samples", count()},
       {"discarded", described(count(), "because the clock was throttled")},
       {"outliers", described(count(), "kept, but far from the median")},
       {"overhead_ms", described(number(), "of the events, measured around an empty kernel; not in the times")},
       {"enqueue_ms", described(number(), "host time of cudnnBackendExecute")},
       {"clock_mhz", number()},
       {"hot_ms", described(number(), "back to back, L2 not flushed")},
       {"graph_ms", described(number(), "replayed from a CUDA graph")},
       {"graph_status", type("string")},
       {"tflops", number()},
       {"percent_of_peak", number()},
       {"gbytes_per_s", number()},
       {"percent_of_bandwidth", number()},
       {"bound", type("string")},
       {"advice", array_of(type("string"))},
       {"raw_ms", array_of(type("number"))}});
}

Json mode() {
  return object({{"mode", type("string")},
                 {"status", type("string")},
                 {"candidates", count()},
                 {"viable", count()},
                 {"notes", array_of(type("string"))},
                 {"reasons", array_of(reference("reason"))}});
}

Json engine() {
  const Json knob = object(
      {{"knob", type("string")}, {"min", type("integer")}, {"max", type("integer")}, {"stride", type("integer")}});
  return object({{"engine", count()},
                 {"status", type("string")},
                 {"reasons", array_of(reference("reason"))},
                 {"knobs", array_of(knob)},
                 {"legal", count()},
                 {"tried", count()},
                 {"viable", count()}});
}

Json root_cause() {
  return object({{"category", one_of<diagnose::Category>()},
                 {"status", type("string")},
                 {"reason", type("string")},
                 {"engine", or_null(type("integer"))},
                 {"mode", or_null(type("string"))},
                 {"explanation", type("string")},
                 {"in_general", type("string")},
                 {"advice", array_of(type("string"))}});
}

Json requirement() {
  return object({{"id", type("string")},
                 {"feature", type("string")},
                 {"needs", type("string")},
                 {"text", type("string")},
                 {"source", reference("source")}});
}

Json known_bug() {
  return object({{"id", type("string")},
                 {"what", type("string")},
                 {"advice", type("string")},
                 {"fixed_in", described(type("string"), "empty where no fixed version is known")},
                 {"source", reference("source")}});
}

Json frontend() {
  return object({{"version", type("string")},
                 {"refuses", type("boolean")},
                 {"id", type("string")},
                 {"status", type("string")},
                 {"message", type("string")},
                 {"source", reference("source")}});
}

Json result() {
  const Json graph = object({{"hash", {{"type", "string"}, {"pattern", "^[0-9a-f]{32}$"}}},
                             {"pattern", described(or_null(type("string")), "null: no attention that attnprobe knows")},
                             {"choice?", type("string")},
                             {"ops", array_of(type("string"))},
                             {"score_ops?", array_of(type("string"))}});
  const Json failure = object({{"stage", type("string")}, {"message", type("string")}, {"cudnn", type("object")}});
  const Json crash = object({{"how", type("string")}, {"stage", type("string")}, {"output", type("string")}});
  const Json given = object({{"description", type("string")},
                             {"recognised", described(type("boolean"), "the config builds this very graph")},
                             {"notes", array_of(type("string"))}});
  return object(
      {{"config", described(or_null(type("object")), "null for a graph that no config builds")},
       {"given?", described(given, "of a graph that another program made")},
       {"graph", or_null(graph)},
       {"target",
        object({{"id", type("string")}, {"name", type("string")}, {"sm", count()}, {"kind", one_of<gpu::Kind>()}})},
       {"cudnn", object({{"version", or_null(type("string"))}, {"path", type("string")}})},
       {"verdict", one_of<campaign::Verdict>()},
       {"environment_broken", type("boolean")},
       {"expect", one_of<attention::ExpectedVerdict>()},
       {"met", type("boolean")},
       {"root_cause", or_null(reference("root_cause"))},
       {"crash?", crash},
       {"requirements?",
        described(array_of(reference("requirement")),
                  "what the config needs and this cuDNN or GPU lacks, where cuDNN refused it; never decides the "
                  "verdict")},
       {"warnings?",
        described(array_of(reference("known_bug")), "known bugs that concern the config on this cuDNN and GPU")},
       {"frontend?", described(or_null(reference("frontend")),
                               "what cudnn-frontend says before it asks cuDNN; null for patterns that it has not")},
       {"stages", array_of(type("string"))},
       {"failure", or_null(failure)},
       {"modes", array_of(reference("mode"))},
       {"engine_configs", array_of(reference("engine_config"))},
       {"engines", array_of(reference("engine"))},
       {"engine_count", count()},
       {"swept", type("boolean")},
       {"walk_ms?", described(type("number"), "not in a matrix, whose reports are the same each time")},
       {"log?", type("string")},
       {"reproduce", type("string")}});
}

}  // namespace

Json report_schema() {
  const Json file = object({{"name", type("string")}, {"path", type("string")}, {"version", type("string")}});
  const Json library = object({{"version", count()},
                               {"path", type("string")},
                               {"cuda_version", count()},
                               {"files", array_of(file)},
                               {"problems", array_of(type("string"))}});
  Json schema =
      object({{"schema", {{"const", "attnprobe/report/1"}}},
              {"tool", object({{"name", type("string")}, {"version", type("string")}})},
              {"host?", type("object")},
              {"cudnn?", or_null(library)},
              {"matrix?", described(type("object"), "of matrix and merge: the axes, in the order of the results")},
              {"results", array_of(reference("result"))},
              {"transformer_engine?", described(array_of(type("object")), "with --te: the answer to each call")},
              {"replay?", described(replay(), "of replay: what the log itself shows")}});
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "attnprobe report";
  schema["$defs"] = {{"reason", object({{"status", type("string")}, {"reason", type("string")}})},
                     {"engine_config", engine_config()},
                     {"engine", engine()},
                     {"mode", mode()},
                     {"output", output()},
                     {"run", run()},
                     {"time", time()},
                     {"root_cause", root_cause()},
                     {"source", object({{"text", type("string")}, {"url", type("string")}})},
                     {"requirement", requirement()},
                     {"known_bug", known_bug()},
                     {"frontend", frontend()},
                     {"result", result()}};
  return schema;
}

}  // namespace attnprobe::report
