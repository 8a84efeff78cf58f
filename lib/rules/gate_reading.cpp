// Reads lib/rules/frameworks/*.json strictly. tests/rules/check_framework_files.py checks the same and more.
#include <fmt/format.h>

#include <algorithm>

#include "base/embedded.hpp"
#include "base/text.hpp"
#include "rules/condition.hpp"
#include "rules/framework_file.hpp"
#include "rules/framework_gates.hpp"
#include "rules/rule_reading.hpp"

namespace attnprobe {
extern const EmbeddedFiles embedded_rules;
}

namespace attnprobe::rules {
namespace {

constexpr std::string_view gates_folder = "frameworks/";

void take_keys(JsonObject& whole, FrameworkGate& gate) {
  gate.all_keys = problem_keys();
  for (const char* part : {"keys", "needs_keys"}) {
    const JsonView keys = whole.take(part);
    for (const CallKey& one : call_keys_in(keys)) {
      if (find_key(gate.all_keys, one.key.name) != nullptr) keys.at(one.key.name).fail("this key appears twice");
      gate.keys.push_back(one);
      gate.all_keys.push_back(one.key);
    }
  }
}

// Values for keys; null for unnamed keys.
Json base_in(const JsonView& view, const std::vector<ProblemKey>& keys) {
  check_condition(view, keys);
  Json base = Json::object();
  for (const ProblemKey& key : keys) base[key.name] = view.has(key.name) ? view.json().at(key.name) : Json();
  return base;
}

GateText text_for_some(const JsonView& place, const char* member, const std::vector<ProblemKey>& keys) {
  JsonObject entry(place);
  GateText text;
  if (const auto when = entry.find("when")) text.when = condition_in(*when, keys);
  text.text = words_in(entry.take(member));
  if (const auto raises = entry.find("raises")) text.raises = raises->boolean();
  entry.finish();
  return text;
}

// A text that always applies (may be ""), or texts with conditions.
std::vector<GateText> texts_in(const JsonView& place, const std::vector<ProblemKey>& keys) {
  std::vector<GateText> texts;
  if (place.json().is_string()) {
    if (!place.text().empty()) texts.push_back({{}, words_in(place)});
    return texts;
  }
  for (const JsonView& one : place.elements()) texts.push_back(text_for_some(one, "text", keys));
  return texts;
}

void take_texts(JsonObject& whole, FrameworkGate& gate) {
  gate.title = words_in(whole.take("title"));
  gate.names = whole.take("names").texts();
  gate.instead = texts_in(whole.take("instead"), gate.all_keys);
  if (const auto then = whole.find("then")) gate.then = texts_in(*then, gate.all_keys);
  const JsonView by_name = whole.take("by_name");
  for (const JsonView& one : by_name.elements()) gate.by_name.push_back(text_for_some(one, "text", gate.all_keys));
  if (gate.by_name.empty() || !gate.by_name.back().when.is_null())
    by_name.fail("the last entry must not have a condition");
  if (const auto without = whole.find("without")) gate.without = words_in(*without);
  const auto lacks = whole.find("lacks");
  if (!lacks) return;
  JsonObject object(*lacks);
  gate.lacks_source = source_in(object.take("source"));
  for (const JsonView& one : object.take("features").elements())
    gate.lacks.push_back(text_for_some(one, "what", gate.all_keys));
  object.finish();
}

void take_releases(JsonObject& whole, FrameworkGate& gate) {
  const JsonView list = whole.take("releases");
  for (const JsonView& place : list.elements()) {
    JsonObject entry(place);
    GateRelease release;
    release.version = entry.take("version").text();
    if (!release_numbers(release.version)) place.fail("a release has a version such as \"2.15.0\"");
    if (const auto cudnn = entry.find_set("cudnn")) release.cudnn = words_in(*cudnn);
    if (const auto frontend = entry.find_set("cudnn_frontend")) release.frontend = words_in(*frontend);
    if (const auto source = entry.find_set("cudnn_frontend_source")) release.frontend_source = words_in(*source);
    if (release.frontend.empty() != release.frontend_source.empty())
      place.fail("cudnn_frontend and cudnn_frontend_source go together");
    if (!release.frontend.empty() && !FrontendVersion::parse(release.frontend))
      place.fail("cudnn_frontend is not a release such as \"1.26\"");
    for (const char* told : {"date", "package", "commit", "cuda12", "cuda13"}) entry.find(told);
    entry.finish();
    if (!gate.releases.empty() && !(release_numbers(gate.releases.back().version) < release_numbers(release.version)))
      place.fail("releases are in ascending order, each once");
    gate.releases.push_back(std::move(release));
  }
}

GatePreference preference_in(JsonObject& entry, const FrameworkFile& file) {
  GatePreference preference;
  preference.span = file.span(entry);
  preference.first = entry.take("first").boolean();
  preference.text = words_in(entry.take("text"));
  if (const auto why = entry.find("why")) preference.why = words_in(*why);
  preference.source = source_in(entry.take("source"));
  if (const auto when = entry.find("when")) preference.when = condition_in(*when, file.keys);
  return preference;
}

// Calls take(entry) for each member of an optional list.
template <class Take>
void each_entry(JsonObject& whole, const char* member, const Take& take) {
  const auto list = whole.find(member);
  if (!list) return;
  for (const JsonView& place : list->elements()) {
    JsonObject entry(place);
    take(entry);
    entry.finish();
  }
}

}  // namespace

FrameworkGate parse_framework_gate(std::string_view text, const std::string& file) {
  const Json json = parse_json(text, rule_source(file), {.comments = false});
  JsonObject whole(JsonView(json, rule_source(file)));
  FrameworkGate gate;
  words_in(whole.take("comment"));
  gate.framework = words_in(whole.take("framework"));
  if (gates_folder.size() + gate.framework.size() + 5 != file.size() || file.find(gate.framework) == file.npos)
    whole.place().fail(fmt::format("it names another framework: {}", gate.framework));
  words_in(whole.take("url"));
  whole.find("read");
  take_keys(whole, gate);
  take_texts(whole, gate);
  gate.base = base_in(whole.take("base"), gate.all_keys);
  if (const auto all = whole.find("all_reasons")) gate.all_reasons = all->boolean();
  if (const auto unread = whole.find("unread")) gate.unread = words_in(*unread);
  take_releases(whole, gate);
  FrameworkFile entries{.file = file, .framework = gate.framework, .keys = gate.all_keys};
  if (gate.unread.empty()) {
    entries.entries(whole.take("prefers_cudnn"), [&](JsonObject& entry, const EntryGroup&) {
      entry.take("id");
      gate.preferences.push_back(preference_in(entry, entries));
    });
    entries.entries(whole.take("rules"), [&](JsonObject& entry, const EntryGroup& group) {
      gate.rules.push_back(entries.rule(entry, group));
    });
  }
  each_entry(whole, "order", [&](JsonObject& entry) {
    gate.orders.push_back({entries.span(entry), entry.take("rules").texts()});
  });
  each_entry(whole, "plans", [&](JsonObject& entry) {
    gate.plans.push_back({entries.span(entry), words_in(entry.take("text")), source_in(entry.take("source"))});
  });
  whole.finish();
  return gate;
}

const std::vector<FrameworkGate>& framework_gates() {
  static const std::vector<FrameworkGate> gates = [] {
    std::vector<FrameworkGate> all;
    for (const auto& [file, text] : embedded_rules)
      if (file.starts_with(gates_folder)) all.push_back(parse_framework_gate(text, std::string(file)));
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.framework < b.framework; });
    return all;
  }();
  return gates;
}

}  // namespace attnprobe::rules
