// The reference of fields in --help and docs/config.md.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attention/fields.hpp"
#include "base/text.hpp"

namespace attnprobe::attention {
namespace {

std::string code(const Json& value) {
  return fmt::format("`{}`", value.is_string() ? value.get<std::string>() : json_text(value));
}

std::string list_of(const Json& words) {
  std::vector<std::string> all;
  for (const auto& word : words) all.push_back(code(word));
  return fmt::format("{}", fmt::join(all, ", "));
}

// Summarises what a schema allows.
std::string values_of(const Json& schema) {
  if (schema.contains("anyOf")) {
    std::vector<std::string> all;
    for (const auto& one : schema["anyOf"]) all.push_back(values_of(one));
    return fmt::format("{}", fmt::join(all, ", or "));
  }
  if (schema.contains("enum")) return list_of(schema["enum"]);
  if (schema.contains("examples")) return list_of(schema["examples"]) + ", …";
  std::string type = schema["type"];
  if (type == "boolean") return "`true`, `false`";
  if (type == "string") return "text";
  if (type == "object") return "an object";
  if (type == "array" && schema.contains("minItems"))
    return fmt::format("array of {} integers", json_text(schema["minItems"]));
  if (type == "array") return "array of integers";
  for (const char* least : {"minimum", "exclusiveMinimum"})
    if (schema.contains(least))
      return fmt::format("{} {} {}", type, least == std::string("minimum") ? "from" : "above",
                         json_text(schema[least])) +
             (schema.contains("exclusiveMaximum") ? fmt::format(" to below {}", json_text(schema["exclusiveMaximum"]))
                                                  : "");
  return type;
}

std::string values_of(const Field& field) {
  return field.values.empty() ? values_of(field.schema) : field.values;
}

// A table cell; "|" would end it.
std::string cell(std::string text) {
  for (size_t i = 0; (i = text.find('|', i)) != std::string::npos; i += 2) text.replace(i, 1, "\\|");
  return text;
}

std::string example_of(const Field& field) {
  return field.example.empty() ? "" : fmt::format("`\"{}\": {}`", field.name, field.example);
}

}  // namespace

std::string help_line(const Field& field) {
  std::string line = field.help;
  const bool listed = !field.values.empty() || values_of(field).find('`') != std::string::npos;
  if (listed && field.schema != Json{{"type", "boolean"}}) line += ": " + values_of(field);
  if (!field.otherwise.empty()) line += "; default: " + field.otherwise;
  line.erase(std::remove(line.begin(), line.end(), '`'), line.end());
  return line;
}

std::string config_markdown() {
  std::string text = "| key | what it is | values | default | example |\n| --- | --- | --- | --- | --- |\n";
  for (const auto& field : fields())
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", field.name,
                        cell(field.help + (field.notes.empty() ? "" : ". " + field.notes)), cell(values_of(field)),
                        cell(field.otherwise), cell(example_of(field)));
  for (const auto& field : fields()) {
    if (field.members.empty()) continue;
    text += fmt::format(
        "\n### `{}` as an object\n\n| member | what it is | values | default |\n| --- | --- | --- | --- |\n",
        field.name);
    for (const auto& member : field.members) {
      const std::string otherwise = member.required              ? "must be given"
                                    : member.otherwise.is_null() ? ""
                                                                 : code(member.otherwise);
      text += fmt::format("| `{}` | {} | {} | {} |\n", member.name, cell(member.help), cell(values_of(member.schema)),
                          otherwise);
    }
  }
  return text;
}

}  // namespace attnprobe::attention
