#include "rules/framework_file.hpp"

#include <fmt/format.h>

#include <tuple>
#include <utility>

#include "base/text.hpp"
#include "rules/rule_reading.hpp"

namespace attnprobe::rules {
namespace {

// Every "{word}" must be a key; other braces are the program's own.
std::string template_in(const std::optional<JsonView>& view, const std::vector<ProblemKey>& keys) {
  if (!view) return "";
  std::string text = view->text();
  for (const std::string& name : placeholders_of(text))
    if (find_key(keys, name) == nullptr) view->fail(fmt::format("\"{{{}}}\" is not a key", name));
  return text;
}

}  // namespace

std::vector<CallKey> call_keys_in(const JsonView& keys) {
  std::vector<CallKey> found;
  for (const auto& [name, place] : keys.members()) {
    JsonObject entry(place);
    CallKey key;
    key.key.name = name;
    key.key.kind = entry.take("kind").one_of<KeyKind>();
    key.key.help = words_in(entry.take("help"));
    if (const auto values = entry.find("values")) key.key.values = values->texts();
    if (key.key.values.empty() == (key.key.kind == KeyKind::text))
      place.fail("\"values\" is for texts, and required for them");
    if (const auto advice = entry.find("advice")) key.advice = words_in(*advice);
    entry.find("from_the_problem");  // documentation for readers; gate_calls.cpp has the code
    entry.finish();
    found.push_back(std::move(key));
  }
  return found;
}

void FrameworkFile::entries(const JsonView& list, const Take& take) {
  const auto each = [&](const JsonView& place, const EntryGroup& group) {
    JsonObject entry = entry_in(place, file, ids);
    take(entry, group);
    entry.finish();
  };
  if (list.elements().empty()) list.fail("no entries");
  for (const JsonView& place : list.elements()) {
    if (!place.has("rules")) {
      each(place, {});
      continue;
    }
    JsonObject object(place);
    EntryGroup group;
    group.path = words_in(object.take("file"));
    if (const auto function = object.find("function")) group.function = words_in(*function);
    if (const auto condition = object.find("when")) group.when = condition_in(*condition, keys);
    const JsonView members = object.take("rules");
    if (members.elements().empty()) members.fail("no entries");
    for (const JsonView& one : members.elements()) each(one, group);
    object.finish();
  }
}

ReleaseSpan FrameworkFile::span(JsonObject& entry) const {
  ReleaseSpan span;
  for (const auto& [key, text, numbers] :
       {std::tuple{"from", &span.from, &span.first}, std::tuple{"below", &span.below, &span.end}}) {
    const auto given = entry.find(key);
    if (!given || given->text().empty()) continue;
    *text = given->text();
    const auto release = release_numbers(*text);
    if (!release) given->fail_unless_it_is("a release such as \"2.15.0\", or \"\"");
    if (!oldest.empty() && (*release < *release_numbers(oldest) || *release > *release_numbers(version)))
      given->fail(fmt::format("expected a release from {} to {}", oldest, version));
    *numbers = *release;
  }
  if (!span.first.empty() && !span.end.empty() && !(span.first < span.end))
    entry.place().fail(fmt::format("from {} is not before below {}", span.from, span.below));
  return span;
}

Source FrameworkFile::source(JsonObject& entry, const EntryGroup& group, const ReleaseSpan& span) const {
  if (group.path.empty()) return source_in(entry.take("source"));
  const std::string release = span.below.empty() ? version : last_frontend_of(span) + ".0";
  std::string base = base_url;
  constexpr std::string_view place_of_version = "{version}";
  if (const auto at = base.find(place_of_version); at != base.npos) base.replace(at, place_of_version.size(), release);
  std::string text = fmt::format("{} {}, {}", framework, release, group.path.substr(group.path.rfind('/') + 1));
  if (!group.function.empty()) text += fmt::format(", {}", group.function);
  const auto line = entry.find("line");
  if (!line) return {text, url.empty() ? base + group.path : url};
  if (base_url.empty()) line->fail("a line needs the file's \"base_url\"");
  const int64_t number = line->integer(1);
  return {fmt::format("{} line {}", text, number), fmt::format("{}{}#L{}", base, group.path, number)};
}

Json FrameworkFile::when(const EntryGroup& group, const std::optional<JsonView>& own) const {
  Json mine = own ? condition_in(*own, keys) : Json();
  if (group.when.is_null()) return mine;
  return mine.is_null() ? group.when : Json{{"all", {group.when, mine}}};
}

FrameworkRule FrameworkFile::rule(JsonObject& entry, const EntryGroup& group) const {
  FrameworkRule rule;
  rule.id = entry.take("id").text();
  rule.span = span(entry);
  if (const auto pass = entry.find("pass")) rule.pass = pass->word({"", "forward", "backward"});
  if (const auto status = entry.find("status"))
    rule.status =
        status->word({"falls back", "exception", "runs in another kernel", "not asked", "wrong results",
                      "GRAPH_NOT_SUPPORTED", "INVALID_VALUE", "ATTRIBUTE_NOT_SET", "CUDNN_BACKEND_API_FAILED"});
  rule.what = template_in(entry.find("what"), keys);
  rule.message = template_in(entry.find("message"), keys);
  if (trim(rule.what).empty() && trim(rule.message).empty()) entry.place().fail("\"what\" and \"message\" are empty");
  if (const auto change = entry.find("change")) rule.change = words_in(*change);
  rule.source = source(entry, group, rule.span);
  rule.when = when(group, entry.take("when"));
  if (const auto of_package = entry.find("of_package")) rule.of_package = of_package->boolean();
  entry.find("note");
  if (const auto unreachable = entry.find("unreachable"))
    words_in(*unreachable);
  else
    rule.examples = take_examples(entry);
  return rule;
}

}  // namespace attnprobe::rules
