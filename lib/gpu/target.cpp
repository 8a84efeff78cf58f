#include "gpu/target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/input.hpp"
#include "base/json_reader.hpp"
#include "base/text.hpp"

namespace attnprobe::gpu {
namespace {

constexpr const char* schema_name = "attnprobe/target/1";

// The properties in cuDNN 9.19's device JSON that its engines need. cuDNN silently accepts any subset and uses zeros
// for missing properties.
constexpr const char* required_properties[] = {"deviceVer", "multiProcessorCount", "maxSharedMemoryPerBlockOptin"};

void check_properties(const JsonView& properties) {
  if (!properties.json().is_object()) properties.fail_unless_it_is("the object of a device property JSON");
  for (const char* key : required_properties) {
    const JsonView property = properties.at(key);
    if (!property.json().is_number_integer() || property.json().get<int64_t>() <= 0)
      property.fail_unless_it_is("a positive integer");
  }
  for (const auto& property : properties.values()) {
    const Json& value = property.json();
    const bool extents = value.is_array() && value.size() == 3 &&
                         std::all_of(value.begin(), value.end(), [](const Json& v) { return v.is_number_integer(); });
    if (!value.is_number_integer() && !value.is_string() && !extents)
      property.fail(property.shown() + " is neither an integer, a text nor three integers");
  }
}

void read_matmul_rates(const JsonView& rates, Target& target) {
  JsonObject object(rates);
  for (const char* type : {"f16", "bf16", "fp8", "f32"})
    if (const auto rate = object.find(type))
      target.matmul_rates[type] = static_cast<int>(rate->integer(1, std::numeric_limits<int>::max()));
  if (const auto source = object.find("source")) target.rates_source = source->text();
  object.finish();
}

// "gpus/mine.json.xz" -> "mine"
std::string stem_of(std::filesystem::path file) {
  if (file.extension() == ".gz" || file.extension() == ".xz") file = file.stem();
  return file.stem();
}

Json object_or_empty(const std::optional<JsonView>& view) {
  if (!view) return Json::object();
  if (!view->json().is_object()) view->fail_unless_it_is("an object");
  return view->json();
}

}  // namespace

Target parse_target(std::string_view text, const std::string& file_name) {
  const JsonSource source{file_name};
  const Json json = parse_json(text, source);
  JsonObject object(JsonView(json, source));
  Target t;
  t.file = file_name;
  const auto schema = object.find("schema");
  if (schema) schema->word({schema_name});
  const JsonView properties = schema ? object.take("properties") : object.place();
  check_properties(properties);
  t.properties = properties.json();
  const int64_t device_version = properties.at("deviceVer").integer(1, 100'000);
  t.sm = static_cast<int>(device_version / 10);
  t.id = stem_of(file_name);
  const auto name = properties.find("deviceName");
  t.name = name ? name->text() : t.id;
  if (!schema) return t;
  if (const auto given = object.find("id")) t.id = given->text();
  if (const auto given = object.find("name")) t.name = given->text();
  if (const auto given = object.find("aliases")) t.aliases = given->texts();
  if (const auto given = object.find("architecture")) t.architecture = given->text();
  if (const auto given = object.find("representative")) t.representative = given->boolean();
  if (const auto given = object.find("matmul_rates")) read_matmul_rates(*given, t);
  t.sources = object_or_empty(object.find("sources"));
  t.references = object_or_empty(object.find("references"));
  if (const auto sm = object.find("sm"); sm && sm->integer() != t.sm)
    sm->fail(fmt::format("{} contradicts deviceVer {}", sm->shown(), device_version));
  object.finish();
  return t;
}

Target load_target(const std::filesystem::path& path) {
  return parse_target(input_text(path), path);
}

Json to_json(const Target& t) {
  Json json = {{"schema", schema_name},
               {"id", t.id},
               {"name", t.name},
               {"aliases", t.aliases},
               {"architecture", t.architecture},
               {"sm", t.sm},
               {"representative", t.representative},
               {"properties", t.properties}};
  if (!t.matmul_rates.empty()) {
    for (const char* type : {"f16", "bf16", "fp8", "f32"})
      if (const auto rate = t.matmul_rates.find(type); rate != t.matmul_rates.end())
        json["matmul_rates"][type] = rate->second;
    if (!t.rates_source.empty()) json["matmul_rates"]["source"] = t.rates_source;
  }
  json["sources"] = t.sources.is_null() ? Json::object() : t.sources;
  json["references"] = t.references.is_null() ? Json::object() : t.references;
  return json;
}

Target measured_target(const std::string& properties_json, int memory_bus_bits, const std::string& measured_with) {
  Target t = parse_target(properties_json, "this GPU");
  if (memory_bus_bits > 0 && !t.properties.contains("memoryBusWidth")) t.properties["memoryBusWidth"] = memory_bus_bits;
  t.file.clear();
  // "NVIDIA H200" -> "nvidia-h200"
  t.id.clear();
  for (const char c : t.name) {
    const bool word = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (word) t.id += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (!word && !t.id.empty() && t.id.back() != '-') t.id += '-';
  }
  while (!t.id.empty() && t.id.back() == '-') t.id.pop_back();
  t.sources = Json::object();
  for (const auto& [key, value] : t.properties.items()) t.sources[key] = "measured";
  t.references = {{"measured", {{"title", "attnprobe targets dump"}, {"note", measured_with}}}};
  return t;
}

}  // namespace attnprobe::gpu
