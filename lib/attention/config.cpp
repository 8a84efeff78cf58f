#include "attention/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>

#include "attention/fields.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace attnprobe::attention {
namespace {

constexpr size_t max_cross_product = 100'000;

// A field's value with the place that it came from, so that an error can name it.
struct Entry {
  const Field* field;
  Json value;
  std::string where;  // "bert.json: /configs/0/dtype" or "--dtype"
};

[[noreturn]] void fail(const std::string& where, const std::string& message) {
  throw Error(ErrorKind::usage, where + ": " + message);
}

std::string place(const std::string& file, const std::string& pointer) {
  return pointer.empty() ? file : file + ": " + pointer;
}

const Field* find_field(const std::string& name) {
  const auto& all = fields();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Field& f) { return f.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string> field_names() {
  std::vector<std::string> names;
  for (const auto& field : fields()) names.push_back(field.name);
  return names;
}

Json parse_json(std::string_view text, const std::string& file) {
  // The parser keeps the last of two equal keys in silence; a config with two "dtype" is a mistake to report.
  std::vector<std::set<std::string>> keys;
  std::string duplicate;
  auto watch = [&](int, nlohmann::detail::parse_event_t event, Json& parsed) {
    if (event == nlohmann::detail::parse_event_t::object_start) keys.emplace_back();
    if (event == nlohmann::detail::parse_event_t::object_end) keys.pop_back();
    if (event == nlohmann::detail::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second &&
        duplicate.empty())
      duplicate = parsed.get<std::string>();
    return true;
  };
  Json json;
  try {
    json = Json::parse(text, watch, true, true);
  } catch (const Json::exception& e) {
    const auto* syntax = dynamic_cast<const Json::parse_error*>(&e);
    // `byte` counts the last character that was read; a newline there ends the line that is wrong.
    const size_t byte = syntax == nullptr ? 0 : std::min(std::max<size_t>(syntax->byte, 1) - 1, text.size());
    const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(byte), '\n') + 1;
    std::string reason = e.what();
    const size_t colon = reason.find("] ");
    fail(syntax == nullptr ? file : fmt::format("{}:{}", file, line),
         "not valid JSON: " + (colon == std::string::npos ? reason : reason.substr(colon + 2)));
  }
  if (!duplicate.empty()) fail(file, fmt::format("the key \"{}\" appears twice in one object", duplicate));
  return json;
}

// Lays `upper` over `entries`: its fields replace theirs, and its shorthands replace what they stand for. Within one
// layer a shorthand may be refined ("heads" beside "heads_kv"), in whatever order.
void lay_over(std::vector<Entry>& entries, std::vector<Entry> upper) {
  auto replaced = [&](const Entry& lower) {
    return std::any_of(upper.begin(), upper.end(), [&](const Entry& e) {
      const auto also = e.field->sets_also(e.value);
      return e.field == lower.field || std::find(also.begin(), also.end(), lower.field->name) != also.end();
    });
  };
  entries.erase(std::remove_if(entries.begin(), entries.end(), replaced), entries.end());
  std::move(upper.begin(), upper.end(), std::back_inserter(entries));
}

std::vector<Entry> read_object(const Json& object, const std::string& file, const std::string& pointer) {
  if (!object.is_object()) fail(place(file, pointer), "a config is an object, not " + std::string(object.type_name()));
  std::vector<Entry> entries;
  for (const auto& [key, value] : object.items()) {
    if (key == "$schema") continue;  // for editors
    const std::string where = place(file, pointer + "/" + pointer_part(key));
    const Field* field = find_field(key);
    if (field == nullptr)
      fail(where, fmt::format("unknown key \"{}\"{}; allowed: {}", key, did_you_mean(key, field_names()),
                              quoted_list(field_names())));
    entries.push_back({field, value, where});
  }
  return entries;
}

std::vector<Entry> read_overrides(const std::vector<Override>& overrides) {
  std::vector<Entry> entries;
  for (const auto& [name, value] : overrides) {
    const Field* field = find_field(name);
    if (field == nullptr) fail(option_of(name), "no such field" + did_you_mean(name, field_names()));
    entries.push_back({field, value, option_of(name)});
  }
  return entries;
}

AttentionSpec make_spec(const std::vector<Entry>& entries, const Origin& origin) {
  AttentionSpec spec;
  // In table order: shorthands come before the fields that refine them.
  for (const auto& field : fields()) {
    for (const auto& entry : entries) {
      if (entry.field != &field) continue;
      try {
        field.set(spec, entry.value);
      } catch (const FieldError& e) {
        // "bert.json" + "/alignment" only where the field itself is a JSON place; an option has no pointer.
        fail(e.pointer().empty() ? entry.where
                                 : entry.where + (entry.where.rfind("--", 0) == 0 ? " at " : "") + e.pointer(),
             e.what());
      }
    }
  }
  const auto found = contradictions(spec);
  if (found.empty()) return spec;
  const auto& [name, message] = found.front();
  for (const auto& entry : entries)
    if (entry.field->name == name) fail(entry.where, message);
  fail(origin.file.empty() ? option_of(name) : place(origin.file, origin.pointer), message);
}

std::string value_label(const Entry& entry, const Json& value) {
  return entry.field->name + "=" + (value.is_string() ? value.get<std::string>() : json_text(value));
}

// Every combination of the fields that hold several values.
std::vector<AttentionConfig> expand(const std::vector<Entry>& entries, const Origin& origin) {
  size_t count = 1;
  for (const auto& entry : entries) {
    if (!entry.value.is_array()) continue;
    if (entry.field->is_text) fail(entry.where, "takes one text, not an array");
    if (entry.value.empty()) fail(entry.where, "an empty array of values");
    count *= entry.value.size();
    if (count > max_cross_product)
      fail(entry.where, fmt::format("the cross product has more than {} configs", max_cross_product));
  }
  std::vector<AttentionConfig> configs;
  for (size_t index = 0; index < count; ++index) {
    std::vector<Entry> chosen = entries;
    std::string label;
    size_t rest = index;
    for (auto entry = chosen.rbegin(); entry != chosen.rend(); ++entry) {
      if (!entry->value.is_array()) continue;
      const size_t which = rest % entry->value.size();
      rest /= entry->value.size();
      const Json value = entry->value[which];
      entry->where += entry->where.rfind("--", 0) == 0 ? "" : fmt::format("/{}", which);
      entry->value = value;
      label = fmt::format("{}{}{}", value_label(*entry, value), label.empty() ? "" : ",", label);
    }
    AttentionSpec spec = make_spec(chosen, origin);
    if (spec.name.empty()) spec.name = std::string(name_of(spec.pattern));
    if (!label.empty()) spec.name += "[" + label + "]";
    configs.push_back({std::move(spec), origin});
  }
  return configs;
}

}  // namespace

Override parse_override(const std::string& field, const std::string& text) {
  const Field* known = find_field(field);
  if (known != nullptr && known->is_text) return {field, text};
  const bool structured = !text.empty() && (text[0] == '{' || text[0] == '[');
  auto value = [&](const std::string& word) {
    Json parsed = Json::parse(word, nullptr, false);
    if (!parsed.is_discarded()) return parsed;
    if (structured) throw Error(ErrorKind::usage, fmt::format("{}: {} is not valid JSON", option_of(field), word));
    return Json(word);
  };
  if (structured || text.find(',') == std::string::npos) return {field, value(text)};
  Json list = Json::array();
  for (const auto& word : split(text, ',')) list.push_back(value(word));
  return {field, list};
}

std::vector<AttentionConfig> parse_configs(std::string_view json_text, const std::string& file_name,
                                           const std::vector<Override>& overrides) {
  const Json document = parse_json(json_text, file_name);
  std::vector<Entry> defaults;
  const Json* list = &document;
  std::string list_pointer;
  if (document.is_object() && (document.contains("configs") || document.contains("defaults"))) {
    for (const auto& [key, value] : document.items())
      if (key != "configs" && key != "defaults" && key != "$schema")
        fail(place(file_name, "/" + pointer_part(key)),
             fmt::format("unknown key \"{}\"; allowed beside \"configs\": \"defaults\"", key));
    if (!document.contains("configs")) fail(file_name, "\"defaults\" without \"configs\"");
    if (document.contains("defaults")) defaults = read_object(document["defaults"], file_name, "/defaults");
    list = &document["configs"];
    list_pointer = "/configs";
  }
  if (!list->is_array() && !list->is_object())
    fail(place(file_name, list_pointer),
         "expected a config object or an array of them, not " + std::string(list->type_name()));

  std::vector<AttentionConfig> configs;
  const size_t count = list->is_array() ? list->size() : 1;
  if (count == 0) fail(place(file_name, list_pointer), "no config in the array");
  for (size_t i = 0; i < count; ++i) {
    const Origin origin{file_name, list->is_array() ? fmt::format("{}/{}", list_pointer, i) : list_pointer};
    std::vector<Entry> entries = defaults;
    lay_over(entries, read_object(list->is_array() ? (*list)[i] : *list, file_name, origin.pointer));
    lay_over(entries, read_overrides(overrides));
    for (auto& config : expand(entries, origin)) configs.push_back(std::move(config));
  }
  return configs;
}

std::vector<AttentionConfig> load_configs(const std::string& path, const std::vector<Override>& overrides) {
  if (path == "-") {
    const std::string text(std::istreambuf_iterator<char>(std::cin), {});
    return parse_configs(text, "<stdin>", overrides);
  }
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) fail(path, "cannot be read as a config file");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return parse_configs(text, path, overrides);
}

std::vector<AttentionConfig> configs_from_options(const std::vector<Override>& overrides) {
  return expand(read_overrides(overrides), {});
}

Json config_schema() {
  Json properties = Json::object();
  for (const auto& field : fields()) {
    Json one = field.schema;
    Json property = field.is_text ? one : Json{{"anyOf", {one, {{"type", "array"}, {"items", one}, {"minItems", 1}}}}};
    property["description"] = field.help;
    properties[field.name] = property;
  }
  properties["$schema"] = {{"type", "string"}};
  const Json config = {{"type", "object"}, {"additionalProperties", false}, {"properties", properties}};
  const Json reference = {{"$ref", "#/$defs/config"}};
  const Json list = {{"type", "array"}, {"items", reference}, {"minItems", 1}};
  return {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"title", "attnprobe attention configs"},
      {"$defs", {{"config", config}}},
      {"anyOf",
       {reference,
        list,
        {{"type", "object"},
         {"additionalProperties", false},
         {"properties",
          {{"$schema", {{"type", "string"}}}, {"defaults", reference}, {"configs", {{"anyOf", {list, reference}}}}}},
         {"required", {"configs"}}}}}};
}

}  // namespace attnprobe::attention
