#include "gpu/target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "base/text.hpp"

namespace attnprobe::gpu {
namespace {

constexpr const char* schema_name = "attnprobe/target/1";

// The fields of cuDNN 9.19's device property JSON that its engines were seen to need; cuDNN itself takes any subset in
// silence and then computes with zeros.
constexpr const char* required_properties[] = {"deviceVer", "multiProcessorCount", "maxSharedMemoryPerBlockOptin"};

[[noreturn]] void fail(const std::string& file, const std::string& pointer, const std::string& message) {
  throw Error(ErrorKind::usage, fmt::format("{}: {}{}{}", file, pointer, pointer.empty() ? "" : ": ", message));
}

template <class T>
T field(const Json& json, const std::string& file, const std::string& pointer, const char* key, const T& otherwise) {
  if (!json.contains(key)) return otherwise;
  try {
    return json[key].get<T>();
  } catch (const Json::exception&) {
    fail(file, fmt::format("{}/{}", pointer, key), json_text(json[key]) + " has the wrong type");
  }
}

void check_properties(const Json& properties, const std::string& file, const std::string& pointer) {
  if (!properties.is_object()) fail(file, pointer, "expected the object of a device property JSON");
  for (const char* key : required_properties) {
    if (!properties.contains(key)) fail(file, pointer, fmt::format("the key \"{}\" is missing", key));
    if (!properties[key].is_number_integer() || properties[key].get<int64_t>() <= 0)
      fail(file, fmt::format("{}/{}", pointer, key), json_text(properties[key]) + " is not a positive integer");
  }
  for (const auto& [key, value] : properties.items()) {
    const bool extents = value.is_array() && value.size() == 3 &&
                         std::all_of(value.begin(), value.end(), [](const Json& v) { return v.is_number_integer(); });
    if (!value.is_number_integer() && !value.is_string() && !extents)
      fail(file, fmt::format("{}/{}", pointer, key),
           json_text(value) + " is neither an integer, a text nor three integers");
  }
}

void read_matmul_rates(const Json& json, const std::string& file, Target& target) {
  constexpr const char* name = "matmul_rates";
  if (!json.contains(name)) return;
  if (!json[name].is_object()) fail(file, fmt::format("/{}", name), "expected an object");
  for (const auto& [key, value] : json[name].items()) {
    const std::string pointer = fmt::format("/{}/{}", name, key);
    const bool is_rate = key == "f16" || key == "bf16" || key == "fp8" || key == "f32";
    if (key == "source" && value.is_string())
      target.rates_source = value;
    else if (is_rate && value.is_number_integer() && value.get<int64_t>() > 0)
      target.matmul_rates[key] = value.get<int>();
    else if (is_rate)
      fail(file, pointer, json_text(value) + " is not a positive integer");
    else
      fail(file, pointer, "unknown; allowed: f16, bf16, fp8, f32 and a text as source");
  }
}

}  // namespace

Target parse_target(std::string_view text, const std::string& file_name) {
  const Json json = Json::parse(text, nullptr, false, true);
  if (json.is_discarded() || !json.is_object()) fail(file_name, "", "not a JSON object");
  Target t;
  t.file = file_name;
  const bool bare = !json.contains("schema");
  if (!bare && json["schema"] != schema_name)
    fail(file_name, "/schema", fmt::format("{} is not known; allowed: \"{}\"", json_text(json["schema"]), schema_name));
  if (!bare && !json.contains("properties")) fail(file_name, "", "the key \"properties\" is missing");
  t.properties = bare ? json : json["properties"];
  check_properties(t.properties, file_name, bare ? "" : "/properties");
  t.sm = static_cast<int>(t.properties["deviceVer"].get<int64_t>() / 10);
  const std::string stem = std::filesystem::path(file_name).stem();
  t.name = field<std::string>(t.properties, file_name, bare ? "" : "/properties", "deviceName", stem);
  t.id = stem;
  if (bare) return t;
  t.id = field<std::string>(json, file_name, "", "id", stem);
  t.name = field<std::string>(json, file_name, "", "name", t.name);
  t.aliases = field<std::vector<std::string>>(json, file_name, "", "aliases", {});
  t.architecture = field<std::string>(json, file_name, "", "architecture", "");
  t.representative = field<bool>(json, file_name, "", "representative", false);
  read_matmul_rates(json, file_name, t);
  t.sources = json.value("sources", Json::object());
  t.references = json.value("references", Json::object());
  if (const int sm = field<int>(json, file_name, "", "sm", t.sm); sm != t.sm)
    fail(file_name, "/sm", fmt::format("{} contradicts deviceVer {}", sm, json_text(t.properties["deviceVer"])));
  return t;
}

Target load_target(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) fail(path, "", "cannot be read as a target file");
  return parse_target(std::string(std::istreambuf_iterator<char>(file), {}), path);
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
