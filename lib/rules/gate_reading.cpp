// Reads lib/rules/frameworks/*.json strictly. tests/rules/check_framework_files.py checks the same and more.
#include <fmt/format.h>

#include <algorithm>

#include "base/embedded.hpp"
#include "base/text.hpp"
#include "rules/condition.hpp"
#include "rules/framework_gates.hpp"
#include "rules/rule_reading.hpp"

namespace attnprobe {
extern const EmbeddedFiles embedded_rules;
}

namespace attnprobe::rules {
namespace {

constexpr std::string_view gates_folder = "frameworks/";

// May be blank, for a missing bound.
std::string release_in(const JsonView& view) {
  std::string text = view.text();
  if (!text.empty() && !release_numbers(text)) view.fail_unless_it_is("a release such as \"2.15.0\", or \"\"");
  return text;
}

GateSpan span_in(JsonObject& entry) {
  GateSpan span{release_in(entry.take("from")), release_in(entry.take("below")), {}, {}};
  if (!span.from.empty()) span.first = *release_numbers(span.from);
  if (!span.below.empty()) span.end = *release_numbers(span.below);
  if (!span.first.empty() && !span.end.empty() && !(span.first < span.end))
    entry.place().fail(fmt::format("from {} is not before below {}", span.from, span.below));
  return span;
}

GateKey gate_key_in(const std::string& name, const JsonView& place) {
  JsonObject entry(place);
  GateKey gate_key;
  gate_key.key.name = name;
  gate_key.key.kind = entry.take("kind").one_of<KeyKind>();
  gate_key.key.help = words_in(entry.take("help"));
  if (const auto values = entry.find("values")) gate_key.key.values = values->texts();
  if (gate_key.key.values.empty() == (gate_key.key.kind == KeyKind::text))
    place.fail("a text, and only a text, has \"values\"");
  if (const auto advice = entry.find("advice")) gate_key.advice = words_in(*advice);
  entry.find("from_the_problem");  // documentation for readers; framework_calls.cpp has the code
  entry.finish();
  return gate_key;
}

void take_gate_keys(JsonObject& whole, FrameworkGate& gate) {
  gate.all_keys = problem_keys();
  for (const char* part : {"keys", "needs_keys"}) {
    for (const auto& [name, place] : whole.take(part).members()) {
      if (find_key(gate.all_keys, name) != nullptr) place.fail("this key appears twice");
      gate.keys.push_back(gate_key_in(name, place));
      gate.all_keys.push_back(gate.keys.back().key);
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

// Every "{word}" must be a key; other braces are the framework's own.
std::string template_in(const JsonView& view, const std::vector<ProblemKey>& keys) {
  std::string text = view.text();
  for (const std::string& name : placeholders_of(text))
    if (find_key(keys, name) == nullptr) view.fail(fmt::format("\"{{{}}}\" is not a key", name));
  return text;
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
  if (gate.by_name.empty() || !gate.by_name.back().when.is_null()) by_name.fail("the last entry always applies");
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
    release.version = release_in(entry.take("version"));
    if (release.version.empty()) place.fail("a release has a version");
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

GatePreference preference_in(JsonObject& entry, const FrameworkGate& gate) {
  GatePreference preference;
  words_in(entry.take("id"));
  preference.span = span_in(entry);
  preference.first = entry.take("first").boolean();
  preference.text = words_in(entry.take("text"));
  if (const auto why = entry.find("why")) preference.why = words_in(*why);
  preference.source = source_in(entry.take("source"));
  if (const auto when = entry.find("when")) preference.when = condition_in(*when, gate.all_keys);
  return preference;
}

GateRule gate_rule_in(JsonObject& entry, const FrameworkGate& gate) {
  GateRule rule;
  rule.id = entry.take("id").text();
  rule.span = span_in(entry);
  rule.pass = entry.take("pass").word({"", "forward", "backward"});
  rule.status =
      entry.take("status").word({"falls back", "exception", "runs in another kernel", "not asked", "wrong results"});
  rule.what = template_in(entry.take("what"), gate.all_keys);
  if (trim(rule.what).empty()) entry.place().fail("\"what\" has no words in it");
  rule.message = template_in(entry.take("message"), gate.all_keys);
  rule.change = words_in(entry.take("change"));
  rule.source = source_in(entry.take("source"));
  rule.when = condition_in(entry.take("when"), gate.all_keys);
  entry.find("note");
  if (const auto unreachable = entry.find("unreachable")) {
    words_in(*unreachable);
    return rule;
  }
  rule.examples = take_examples(entry);
  return rule;
}

void take_orders(JsonObject& whole, FrameworkGate& gate) {
  const auto list = whole.find("order");
  if (!list) return;
  for (const JsonView& place : list->elements()) {
    JsonObject entry(place);
    FrameworkGate::Order order;
    order.span = span_in(entry);
    order.rules = entry.take("rules").texts();
    entry.finish();
    gate.orders.push_back(std::move(order));
  }
}

void take_plans(JsonObject& whole, FrameworkGate& gate) {
  const auto list = whole.find("plans");
  if (!list) return;
  for (const JsonView& place : list->elements()) {
    JsonObject entry(place);
    GatePlans plans;
    plans.span = span_in(entry);
    plans.text = words_in(entry.take("text"));
    plans.source = source_in(entry.take("source"));
    entry.finish();
    gate.plans.push_back(std::move(plans));
  }
}

void take_rules(JsonObject& whole, FrameworkGate& gate, const std::string& file) {
  std::set<std::string> preference_ids, ids;
  for (JsonObject& entry : entries_in(whole.take("prefers_cudnn"), file, preference_ids)) {
    gate.preferences.push_back(preference_in(entry, gate));
    entry.finish();
  }
  for (JsonObject& entry : entries_in(whole.take("rules"), file, ids)) {
    gate.rules.push_back(gate_rule_in(entry, gate));
    entry.finish();
  }
}

}  // namespace

std::vector<std::string> placeholders_of(std::string_view text) {
  std::vector<std::string> names;
  for (size_t open = text.find('{'); open != std::string_view::npos; open = text.find('{', open + 1)) {
    const size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_", open + 1);
    if (end != std::string_view::npos && end > open + 1 && text[end] == '}')
      names.emplace_back(text.substr(open + 1, end - open - 1));
  }
  return names;
}

FrameworkGate parse_framework_gate(std::string_view text, const std::string& file) {
  const Json json = parse_json(text, rule_source(file), {.comments = false});
  JsonObject whole(JsonView(json, rule_source(file)));
  FrameworkGate gate;
  words_in(whole.take("comment"));
  gate.framework = words_in(whole.take("framework"));
  if (gates_folder.size() + gate.framework.size() + 5 != file.size() || file.find(gate.framework) == file.npos)
    whole.place().fail(fmt::format("it says that it is of {}", gate.framework));
  words_in(whole.take("url"));
  whole.find("read");
  take_gate_keys(whole, gate);
  take_texts(whole, gate);
  gate.base = base_in(whole.take("base"), gate.all_keys);
  if (const auto all = whole.find("all_reasons")) gate.all_reasons = all->boolean();
  if (const auto unread = whole.find("unread")) gate.unread = words_in(*unread);
  take_releases(whole, gate);
  if (gate.unread.empty()) take_rules(whole, gate, file);
  take_orders(whole, gate);
  take_plans(whole, gate);
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
