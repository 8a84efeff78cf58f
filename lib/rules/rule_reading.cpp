#include "rules/rule_reading.hpp"

#include <fmt/format.h>

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

JsonSource rule_source(const std::string& file) {
  return {.name = file, .kind = ErrorKind::internal};
}

std::string words_in(const JsonView& view) {
  if (!view.json().is_string() || trim(view.text()).empty()) view.fail_unless_it_is("a non-empty text");
  return view.text();
}

CudnnVersion version_in(const std::optional<JsonView>& view) {
  if (!view) return {};
  const std::string text = words_in(*view);
  const auto version = CudnnVersion::parse(text);
  if (!version || version->text() != text) view->fail_unless_it_is("a version such as \"9.14.0\"");
  return *version;
}

Source source_in(const JsonView& view) {
  JsonObject object(view);
  Source source{words_in(object.take("text")), words_in(object.take("url"))};
  object.finish();
  return source;
}

Json condition_in(const JsonView& view, const std::vector<ProblemKey>& keys) {
  check_condition(view, keys);
  return view.json();
}

Examples take_examples(JsonObject& entry) {
  const JsonView affected = entry.take("affected"), unaffected = entry.take("unaffected");
  if (!affected.json().is_object()) affected.fail_unless_it_is("an object");
  Examples examples;
  examples.affected = affected.json();
  for (const JsonView& example : unaffected.elements()) {
    if (!example.json().is_object()) example.fail_unless_it_is("an object");
    examples.unaffected.push_back(example.json());
  }
  if (examples.unaffected.empty()) unaffected.fail("an example that is not affected is required");
  return examples;
}

JsonObject entry_in(const JsonView& entry, const std::string& file, std::set<std::string>& ids) {
  const JsonView place = entry.at("id");
  const std::string id = words_in(place);
  if (!ids.insert(id).second) place.fail(fmt::format("\"{}\" is there twice", id));
  return JsonObject(JsonView(entry.json(), rule_source(fmt::format("{}, {}", file, id))));
}

std::vector<JsonObject> entries_in(const JsonView& list, const std::string& file, std::set<std::string>& ids) {
  std::vector<JsonObject> entries;
  for (const JsonView& entry : list.elements()) entries.push_back(entry_in(entry, file, ids));
  if (entries.empty()) list.fail("no entries");
  return entries;
}

}  // namespace attnprobe::rules
