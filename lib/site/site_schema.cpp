// JSON Schema of a site's documents. Within a schema version, members are added but never renamed, so unknown ones are
// allowed.
#include "site/site.hpp"

namespace attnprobe::site {
namespace {

Json text() {
  return {{"type", "string"}};
}

Json integer() {
  return {{"type", "integer"}, {"minimum", 0}};
}

Json array_of(Json items) {
  return {{"type", "array"}, {"items", std::move(items)}};
}

Json map_of(Json values) {
  return {{"type", "object"}, {"additionalProperties", std::move(values)}};
}

Json word() {
  std::vector<std::string> all;
  for (const auto& [word, name] : EnumNames<answer::Word>::table)
    if (word != answer::Word::not_asked && word != answer::Word::invalid) all.emplace_back(name);
  return {{"enum", all}};
}

// All `properties` are required; those in `more` are optional.
Json object(Json properties, const Json& more = Json::object()) {
  Json required = Json::array();
  for (const auto& [key, schema] : properties.items()) required.push_back(key);
  properties.update(more);
  return {{"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(required)}};
}

Json of_kind(const char* kind, Json properties) {
  properties["schema"] = {{"const", schema_name}};
  properties["kind"] = {{"const", kind}};
  return object(std::move(properties));
}

Json run(Json answer) {
  return object({{"from", text()}, {"to", text()}, {"answer", std::move(answer)}});
}

Json config() {
  const Json answer =
      object({{"answer", word()}},
             {{"category", text()},
              {"status", text()},
              {"reason", text()},
              {"reason_id", text()},
              {"explanation", text()},
              {"frontend", text()},
              {"from", text()},
              {"advice", array_of(text())},
              {"notes", array_of(object({{"kind", text()}, {"text", text()}, {"source", text()}}, {{"id", text()}}))},
              {"frameworks", array_of(text())},
              {"but", array_of(object({{"kind", text()}, {"text", text()}, {"source", text()}}))},
              {"working", integer()},
              {"first",
               object({{"engine", {{"type", "integer"}}}, {"knobs", text()}}, {{"median_ms", {{"type", "number"}}}})}});
  return of_kind("config", {{"name", text()},
                            {"address", text()},
                            {"summary", text()},
                            {"source", text()},
                            {"command", text()},
                            {"fields", {{"type", {"object", "null"}}}},
                            {"answers", array_of(answer)},
                            {"cells", map_of(array_of(run(integer())))}});
}

}  // namespace

Json site_schema() {
  const Json change =
      object({{"config", text()}, {"target", text()}, {"before", word()}, {"after", word()}, {"why", text()}});
  const Json front = of_kind(
      "site", {{"title", text()},
               {"tool", text()},
               {"configs", array_of(object({{"name", text()}, {"address", text()}, {"summary", text()}}))},
               {"targets", array_of(object({{"id", text()}, {"address", text()}, {"name", text()}}))},
               {"cudnns", array_of(object({{"version", text()}, {"address", text()}, {"changes", integer()}}))}});
  const Json gpu = of_kind("gpu", {{"id", text()},
                                   {"name", text()},
                                   {"architecture", text()},
                                   {"sm", integer()},
                                   {"simulated", {{"type", "boolean"}}},
                                   {"configs", map_of(array_of(run(word())))}});
  const Json version = of_kind("cudnn", {{"version", text()},
                                         {"compared_with", {{"type", {"string", "null"}}}},
                                         {"changes", array_of(change)},
                                         {"counts", map_of(map_of(integer()))}});
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", "A document of a site that attnprobe wrote"},
          {"oneOf", Json::array({front, config(), gpu, version})}};
}

}  // namespace attnprobe::site
