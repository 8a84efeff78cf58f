// Functions over all fields: lookups, a spec as text, and descriptions.
#include "attention/fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attention/field_rows.hpp"
#include "base/text.hpp"

namespace attnprobe::attention {
namespace {

// Derives a row's missing members from its other members.
Field completed(Field field) {
  const Json usual = field.get(AttentionSpec());
  if (!field.given)
    field.given = [get = field.get, usual](const AttentionSpec& s) {
      const Json value = get(s);
      return !value.is_null() && value != usual;
    };
  if (!field.brief) field.brief = field.get;
  if (!field.sets_also) field.sets_also = [also = field.stands_for](const Json&) { return also; };
  if (field.otherwise.empty() && !usual.is_null())
    field.otherwise = fmt::format("`{}`", usual.is_string() ? usual.get<std::string>() : json_text(usual));
  return field;
}

std::string option_text(const std::string& name, const Json& value) {
  return option_of(name) + " " + shell_word(value.is_string() ? value.get<std::string>() : value.dump());
}

Json value_of(const std::string& name, const AttentionSpec& spec) {
  const auto& all = fields();
  return std::find_if(all.begin(), all.end(), [&](const Field& field) { return field.name == name; })->get(spec);
}

// The shorthand's value if its first two fields are equal and the others are unset.
Json value_for_all(const Field& shorthand, const AttentionSpec& spec) {
  const auto& names = shorthand.stands_for;
  const Json value = value_of(names[0], spec);
  const bool others = std::any_of(names.begin() + 2, names.end(),
                                  [&](const std::string& name) { return !value_of(name, spec).is_null(); });
  return others || value != value_of(names[1], spec) ? Json() : value;
}

}  // namespace

const std::vector<Field>& fields() {
  static const std::vector<Field> all = [] {
    std::vector<Field> rows;
    for (auto& part : {problem_fields(), tensor_fields(), feature_fields(), newer_fields()})
      for (const auto& field : part) rows.push_back(completed(field));
    return rows;
  }();
  return all;
}

bool is_number(const Field& field) {
  return field.schema.value("type", "") == "integer";
}

const std::vector<std::string>* several_of(const Field& field, const Json& value) {
  if (!value.is_string()) return nullptr;
  const std::string word = plain_word(value.get_ref<const std::string&>());
  for (const auto& [name, values] : field.several)
    if (name == word) return &values;
  return nullptr;
}

const Field* find_field(const std::string& name) {
  for (const auto& field : fields()) {
    const std::string plain = plain_word(name);
    if (field.name == plain || std::find(field.also.begin(), field.also.end(), plain) != field.also.end())
      return &field;
  }
  return nullptr;
}

std::string option_of(const std::string& field_name) {
  std::string option = "--" + field_name;
  std::replace(option.begin(), option.end(), '_', '-');
  return option;
}

Json to_json(const AttentionSpec& spec) {
  Json json = object_with_room(fields().size());
  for (const auto& field : fields())
    if (Json value = field.get(spec); !value.is_null()) json[field.name] = std::move(value);
  return json;
}

std::string to_options(const AttentionSpec& spec) {
  std::vector<std::string> options, said;
  for (const auto& field : fields()) {
    if (std::find(said.begin(), said.end(), field.name) != said.end()) continue;
    if (!field.stands_for.empty()) {
      const Json value = value_for_all(field, spec);
      if (value.is_null()) continue;
      options.push_back(option_text(field.name, value));
      said.insert(said.end(), field.stands_for.begin(), field.stands_for.end());
    } else if (field.given(spec)) {
      options.push_back(option_text(field.name, field.brief(spec)));
    }
  }
  return fmt::format("{}", fmt::join(options, " "));
}

std::string describe(const AttentionSpec& spec) {
  std::string text;
  for (const auto& field : fields())
    if (const std::string words = field.words(spec); !words.empty()) text += (text.empty() ? "" : " ") + words;
  return text;
}

}  // namespace attnprobe::attention
