#include "attention/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <iterator>

#include "attention/fields.hpp"
#include "attention/merging.hpp"
#include "attention/model_config.hpp"
#include "attention/range.hpp"
#include "attention/read_configs.hpp"
#include "base/error.hpp"
#include "base/input.hpp"
#include "base/limits.hpp"
#include "base/number.hpp"
#include "base/text.hpp"

namespace attnprobe::attention {
namespace {

// The value of a field, and the option or the place in a document that gave it.
struct Entry {
  const Field* field;
  JsonView value;
  bool is_range = false;
  bool adds = false;                   // sets members and keeps the other members of the lower value
  std::vector<bool> is_training = {};  // for an array: the values that came from the word "training"
};

[[noreturn]] void fail(const std::string& where, const std::string& message) {
  throw Error(ErrorKind::usage, where + ": " + message);
}

std::vector<std::string> field_names() {
  std::vector<std::string> names;
  for (const auto& field : fields()) names.push_back(field.name);
  return names;
}

// Values that are not in any document; entries refer to them.
using MadeValues = std::deque<Json>;

// Merges a layer with the values below it. Options merge with every object; documents only add members.
void merge_with(const std::vector<Entry>& entries, std::vector<Entry>& upper, bool are_options, MadeValues& made) {
  for (auto& entry : upper) {
    const auto lower =
        std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.field == entry.field; });
    const bool is_below = lower != entries.end();
    if (entry.adds)
      made.push_back(with_members(*entry.field, is_below ? &lower->value : nullptr, entry.value));
    else if (are_options && is_below && entry.field->as_object)
      made.push_back(laid_over(*entry.field, lower->value, entry.value));
    else
      continue;
    entry.value = entry.value.with(made.back());
  }
}

// Overrides `entries` with `upper`: fields replace fields, and shorthands replace the fields that they set. Within one
// layer a field may refine a shorthand ("heads" with "heads_kv"), in any order.
void lay_over(std::vector<Entry>& entries, std::vector<Entry> upper) {
  auto replaced = [&](const Entry& lower) {
    return std::any_of(upper.begin(), upper.end(), [&](const Entry& e) {
      const auto also = e.field->sets_also(e.value.json());
      return e.field == lower.field || std::find(also.begin(), also.end(), lower.field->name) != also.end();
    });
  };
  entries.erase(std::remove_if(entries.begin(), entries.end(), replaced), entries.end());
  std::move(upper.begin(), upper.end(), std::back_inserter(entries));
}

// Converts a field that is a member of another field to an entry of the latter: {"sliding_window": 8} -> {"mask":
// {"sliding_window": 8}}.
Entry as_member(const Field& field, const JsonView& value, MadeValues& made) {
  const auto ranges = is_number(field) ? with_ranges(value) : std::nullopt;
  const Json& given = ranges ? *ranges : value.json();
  Json members = Json::array();
  for (const auto& one : given.is_array() ? given : Json::array({given})) {
    AttentionSpec unused;
    field.set(unused, value.with(one));
    members.push_back({{field.name, one}});
  }
  made.push_back(given.is_array() ? std::move(members) : members.front());
  return {.field = find_field(field.member_of), .value = value.with(made.back()), .adds = true};
}

// Merges members with the values of their fields in the same layer.
void add_members(std::vector<Entry>& entries, const std::vector<Entry>& adding, MadeValues& made) {
  for (const auto& entry : adding) {
    const auto beside =
        std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.field == entry.field; });
    if (beside == entries.end()) {
      entries.push_back(entry);
      continue;
    }
    const Json& value = beside->value.json();
    if (value == "none" || (value.is_array() && std::find(value.begin(), value.end(), "none") != value.end()))
      entry.value.fail(fmt::format("contradicts {} none", beside->value.where()));
    made.push_back(with_members(*entry.field, &beside->value, entry.value));
    beside->value = beside->value.with(made.back());
  }
}

// `made` receives the values that are not in any document.
std::vector<Entry> read_object(const JsonView& object, MadeValues& made) {
  if (!object.json().is_object()) object.fail("a config is an object, not " + std::string(object.json().type_name()));
  std::vector<Entry> entries, adding;
  for (const auto& [key, value] : object.json().items()) {
    if (key == "$schema") continue;  // for editors
    const Field* field = find_field(key);
    if (field == nullptr) object.fail_unknown(key, field_names());
    if (field->member_of.empty())
      entries.push_back({.field = field, .value = object.at(key)});
    else if (!value.is_null())
      adding.push_back(as_member(*field, object.at(key), made));
  }
  add_members(entries, adding, made);
  return entries;
}

JsonSource source_of_option(const std::string& field_name) {
  return {option_of(field_name), " at ", false};
}

// `made` receives the numbers of the ranges.
std::vector<Entry> read_overrides(const std::vector<Override>& overrides, MadeValues& made) {
  std::vector<Entry> entries, adding;
  for (const auto& [name, value] : overrides) {
    const Field* field = find_field(name);
    if (field == nullptr) fail(option_of(name), "no such field" + did_you_mean(name, field_names()));
    const JsonView given(value, source_of_option(name));
    if (!field->member_of.empty()) {
      adding.push_back(as_member(*field, given, made));
      continue;
    }
    entries.push_back({.field = field, .value = given});
    if (!field->as_object) continue;
    if (auto list = with_ranges(entries.back().value))
      entries.back().value = entries.back().value.with(made.emplace_back(std::move(*list)));
  }
  add_members(entries, adding, made);
  return entries;
}

AttentionSpec make_spec(const std::vector<Entry>& entries, const Origin& origin) {
  AttentionSpec spec;
  // In table order: shorthands come before the fields that refine them.
  for (const auto& field : fields())
    for (const auto& entry : entries)
      if (entry.field == &field) field.set(spec, entry.value);
  const auto found = contradictions(spec);
  if (found.empty()) return spec;
  const auto& [name, message] = found.front();
  for (const auto& entry : entries)
    if (entry.field->name == name) entry.value.fail(message);
  if (origin.file.empty()) fail(option_of(name), message);
  fail(origin.pointer.empty() ? origin.file : origin.file + ": " + origin.pointer, message);
}

std::string value_label(const Entry& entry) {
  const Json& value = entry.value.json();
  return entry.field->name + "=" + (value.is_string() ? value.get<std::string>() : json_text(value));
}

// The number of configs from the entries; `before`: configs already made from the same document. Throws beyond the
// limits on number and memory, because each config copies the shared values.
size_t count_of(const std::vector<Entry>& entries, const Origin& origin, size_t before) {
  const std::string where = origin.file.empty() ? "the options" : origin.file;
  size_t count = 1, bytes = 0;
  for (const auto& entry : entries) {
    const JsonView& value = entry.value;
    const size_t length = json_text(value.json()).size();
    if (!value.json().is_array()) {
      bytes += length;
      continue;
    }
    if (entry.field->is_text) value.fail("accepts one text, not an array");
    if (value.json().empty()) value.fail("an empty array of values");
    count *= value.json().size();  // cannot overflow: at most a file's bytes times the limit
    bytes += length / value.json().size();
    check_limit(limits::configs, before + count, value.where(), "configs");
  }
  check_limit(limits::document_bytes, count * bytes, where,
              fmt::format("bytes for the {} configs of a cross product", count));
  return count;
}

// Replaces each range with its numbers, which `numbers` keeps alive.
std::vector<Entry> without_ranges(std::vector<Entry> entries, std::deque<Json>& numbers) {
  for (auto& entry : entries) {
    if (entry.field->is_text || entry.field->is_word) continue;
    auto list = with_ranges(entry.value);
    if (!list) continue;
    entry.value = entry.value.with(numbers.emplace_back(std::move(*list)));
    entry.is_range = true;
  }
  return entries;
}

// Replaces a word such as "training" with its values, which `made` keeps alive.
std::vector<Entry> without_several(std::vector<Entry> entries, std::deque<Json>& made) {
  for (auto& entry : entries) {
    if (entry.field->several.empty()) continue;
    const Json values = entry.value.json().is_array() ? entry.value.json() : Json::array({entry.value.json()});
    Json list = Json::array();
    for (const auto& value : values) {
      const auto* several = several_of(*entry.field, value);
      if (several == nullptr) list.push_back(value);
      for (const auto& one : several == nullptr ? std::vector<std::string>() : *several) list.push_back(one);
      entry.is_training.resize(list.size(), several != nullptr);
    }
    if (list.size() > values.size()) {
      entry.value = entry.value.with(made.emplace_back(std::move(list)));
      entry.is_range = true;
    }
  }
  return entries;
}

// Every combination of the fields with several values. `before`: the number of configs that the document already has.
std::vector<AttentionConfig> expand(const std::vector<Entry>& given, const Origin& origin, size_t before) {
  std::deque<Json> numbers;
  const std::vector<Entry> entries = without_several(without_ranges(given, numbers), numbers);
  const size_t count = count_of(entries, origin, before);
  std::vector<AttentionConfig> configs;
  for (size_t index = 0; index < count; ++index) {
    std::vector<Entry> chosen = entries;
    std::string label, training_label;
    bool is_training = false;
    size_t rest = index;
    for (auto entry = chosen.rbegin(); entry != chosen.rend(); ++entry) {
      const Json& values = entry->value.json();
      if (!values.is_array()) continue;
      const size_t which = rest % values.size();
      rest /= values.size();
      // Values of options and ranges have no JSON pointers of their own.
      const bool has_places = entry->value.source().is_file && !entry->is_range;
      entry->value = has_places ? entry->value.at(which) : entry->value.with(values[which]);
      const auto add_to = [&](std::string& text) {
        text = fmt::format("{}{}{}", value_label(*entry), text.empty() ? "" : ",", text);
      };
      add_to(label);
      const bool is_part = which < entry->is_training.size() && entry->is_training[which];
      is_training = is_training || is_part;
      if (!is_part) add_to(training_label);
    }
    AttentionSpec spec = make_spec(chosen, origin);
    if (spec.name.empty()) spec.name = std::string(name_of(spec.pattern));
    const auto named = [&](const std::string& values) {
      return spec.name + (values.empty() ? "" : "[" + values + "]");
    };
    const std::string training = is_training ? named(training_label) : "";
    spec.name = named(label);
    configs.push_back({std::move(spec), origin, training});
  }
  return configs;
}

}  // namespace

Override parse_override(const std::string& field, const std::string& text) {
  const Field* known = find_field(field);
  if (known != nullptr && known->is_text) return {field, text};
  const bool structured = !text.empty() && (text[0] == '{' || text[0] == '[');
  auto value = [&](const std::string& word) {
    if (known != nullptr && is_number(*known))
      if (const auto size = parse_size(word)) return Json(*size);
    if (known != nullptr && known->is_word) return Json(word);
    if (structured) return parse_json(word, source_of_option(field), {.comments = false});
    Json parsed = parse_json_leniently(word);
    return parsed.is_discarded() ? Json(word) : parsed;
  };
  if (structured || text.find(',') == std::string::npos) return {field, value(text)};
  Json list = Json::array();
  for (const auto& word : split(text, ',')) list.push_back(value(word));
  return {field, list};
}

std::string override_words(const Override& one) {
  if (one.value == true && !find_field(one.field)->member_of.empty()) return option_of(one.field);
  return fmt::format("{} {}", option_of(one.field),
                     shell_word(one.value.is_string() ? one.value.get<std::string>() : json_text(one.value)));
}

std::vector<AttentionConfig> read_configs(const JsonView& document, const std::vector<Override>& overrides) {
  std::vector<Entry> defaults;
  MadeValues made_defaults;
  JsonView list = document;
  if (document.has("configs") || document.has("defaults")) {
    document.only_keys({"configs", "defaults", "$schema"});
    if (!document.has("configs")) document.fail("\"defaults\" without \"configs\"");
    if (const auto given = document.find("defaults")) defaults = read_object(*given, made_defaults);
    list = document.at("configs");
  }
  const bool many = list.json().is_array();
  if (!many && !list.json().is_object())
    list.fail("expected a config object or an array of them, not " + std::string(list.json().type_name()));
  if (list.json().empty() && many) list.fail("no config in the array");

  std::vector<AttentionConfig> configs;
  check_limit(limits::configs, many ? list.json().size() : 1, list.where(), "configs");
  for (const auto& config : many ? list.values() : std::vector<JsonView>{list}) {
    std::vector<Entry> entries = defaults;
    MadeValues made;
    auto own = read_object(config, made);
    merge_with(entries, own, false, made);
    lay_over(entries, std::move(own));
    auto options = read_overrides(overrides, made);
    merge_with(entries, options, true, made);
    lay_over(entries, std::move(options));
    for (auto& one : expand(entries, {document.source().name, config.pointer()}, configs.size()))
      configs.push_back(std::move(one));
  }
  return configs;
}

std::vector<AttentionConfig> parse_configs(std::string_view json_text, const std::string& file_name,
                                           const std::vector<Override>& overrides) {
  const JsonSource source{file_name};
  const Json document = parse_json(json_text, source);
  if (!is_model(document)) return read_configs({document, source}, overrides);
  const auto model = read_model(document);
  if (!model) fail(file_name, "a model's config.json without the heads and head dimension of an attention");
  return read_configs({model_configs(*model, model_name(document, file_name)), source}, overrides);
}

namespace {

// The documents of a folder, by name; not those of its subfolders.
std::vector<std::string> documents_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code failed;
  const std::filesystem::directory_iterator entries(folder, failed);
  if (failed) throw Error(ErrorKind::usage, fmt::format("{}: cannot be read: {}", folder, failed.message()));
  for (const auto& entry : entries)
    for (const char* ending : {".json", ".json.gz", ".json.xz"})
      if (entry.path().filename().string().ends_with(ending) && entry.is_regular_file())
        files.push_back(entry.path().string());
  if (files.empty()) throw Error(ErrorKind::usage, fmt::format("{}: the folder contains no .json file", folder));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<AttentionConfig> load_configs(const std::string& path, const std::vector<Override>& overrides) {
  std::error_code unknown;
  if (!std::filesystem::is_directory(path, unknown))
    return parse_configs(input_text(path), input_name(path), overrides);
  std::vector<AttentionConfig> configs;
  for (const auto& file : documents_in(path)) {
    auto some = parse_configs(input_text(file), input_name(file), overrides);
    configs.insert(configs.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  }
  check_limit(limits::configs, configs.size(), path, "configs");
  return configs;
}

std::vector<AttentionConfig> configs_from_options(const std::vector<Override>& overrides) {
  MadeValues made;
  return expand(read_overrides(overrides, made), {}, 0);
}

bool has_config(const AttentionSpec& spec) try {
  return !parse_configs(to_json(spec).dump(), "").empty();
} catch (const Error&) {
  return false;
}

Json config_schema() {
  Json properties = Json::object();
  for (const auto& field : fields()) {
    Json one = field.schema;
    Json property = one;
    if (!field.several.empty()) {
      Json words = Json::array();
      for (const auto& [word, values] : field.several) words.push_back(word);
      one = Json{{"anyOf", {one, {{"type", "string"}, {"enum", words}}}}};
    }
    if (is_number(field))
      one = Json{{"anyOf", {one, {{"type", "string"}, {"pattern", "^[0-9]+:[0-9]+(:x?[0-9]+)?$"}}}}};
    if (!field.is_text) property = Json{{"anyOf", {one, {{"type", "array"}, {"items", one}, {"minItems", 1}}}}};
    property["description"] = help_line(field);
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
