#include "rules/rule_reading.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "rules/condition.hpp"

namespace attnprobe {
extern const EmbeddedFiles embedded_rules;
}

namespace attnprobe::rules {

void bad_entry(const std::string& where, const std::string& what) {
  throw Error(ErrorKind::internal, fmt::format("{}: {}", where, what));
}

std::string_view embedded_file(std::string_view name) {
  for (const auto& [file, text] : embedded_rules)
    if (file == name) return text;
  bad_entry(std::string(name), "not built in");
}

Json parse_unique(std::string_view text, const std::string& file) {
  std::vector<std::set<std::string>> open;
  std::string repeated;
  auto watch = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second)
      repeated = value.get<std::string>();
    return true;
  };
  Json json;
  try {
    json = Json::parse(text, watch);
  } catch (const Json::exception& e) {
    bad_entry(file, e.what());
  }
  if (!repeated.empty()) bad_entry(file, fmt::format("\"{}\" is twice in one object", repeated));
  return json;
}

void check_members(const Json& entry, const std::vector<std::string>& required,
                   const std::vector<std::string>& optional, const std::string& where) {
  if (!entry.is_object()) bad_entry(where, "an object is wanted");
  for (const auto& name : required)
    if (!entry.contains(name)) bad_entry(where, fmt::format("\"{}\" is missing", name));
  std::vector<std::string> known = required;
  known.insert(known.end(), optional.begin(), optional.end());
  for (const auto& [name, value] : entry.items())
    if (std::find(known.begin(), known.end(), name) == known.end())
      bad_entry(where, fmt::format("unknown member \"{}\"{}", name, did_you_mean(name, known)));
}

std::string text_of(const Json& entry, const std::string& name, const std::string& where) {
  const Json& value = entry.at(name);
  if (!value.is_string() || trim(value.get_ref<const std::string&>()).empty())
    bad_entry(where, fmt::format("\"{}\" wants a text", name));
  return value;
}

CudnnVersion version_of(const Json& entry, const std::string& name, const std::string& where) {
  if (!entry.contains(name)) return {};
  const std::string text = text_of(entry, name, where);
  const auto version = CudnnVersion::parse(text);
  if (!version || version->text() != text)
    bad_entry(where, fmt::format("\"{}\" wants a version such as \"9.14.0\"", name));
  return *version;
}

Source source_of(const Json& entry, const std::string& where) {
  const Json& source = entry.at("source");
  check_members(source, {"text", "url"}, {}, where + ", source");
  return {text_of(source, "text", where), text_of(source, "url", where)};
}

Examples examples_of(const Json& entry, const std::string& where) {
  Examples examples;
  if (entry.contains("unreachable")) {
    text_of(entry, "unreachable", where);
    if (entry.contains("affected")) bad_entry(where, "what is unreachable has no example");
    return examples;
  }
  for (const char* name : {"affected", "unaffected"})
    if (!entry.contains(name)) bad_entry(where, fmt::format("\"{}\" is missing", name));
  examples.affected = entry.at("affected");
  examples.unaffected = entry.at("unaffected").get<std::vector<Json>>();
  if (!examples.affected.is_object() || examples.unaffected.empty())
    bad_entry(where, "an example that is affected and one that is not are wanted");
  return examples;
}

Json condition_of(const Json& entry, const std::string& where, const std::vector<ProblemKey>& keys) {
  check_condition(entry.at("when"), where + ", when", keys);
  return entry.at("when");
}

std::vector<std::pair<std::string, Json>> entries_of(const Json& list, const std::string& file,
                                                     std::set<std::string>& ids) {
  std::vector<std::pair<std::string, Json>> entries;
  for (const Json& entry : list) {
    if (!entry.is_object() || !entry.contains("id"))
      bad_entry(file, fmt::format("an entry has no \"id\": {}", json_text(entry)));
    const std::string id = text_of(entry, "id", file);
    if (!ids.insert(id).second) bad_entry(file, fmt::format("\"{}\" is there twice", id));
    entries.emplace_back(fmt::format("{}, {}", file, id), entry);
  }
  if (entries.empty()) bad_entry(file, "no entries");
  return entries;
}

}  // namespace attnprobe::rules
