#include "explain/messages.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <future>
#include <map>
#include <vector>

#include "base/embedded.hpp"
#include "base/json_reader.hpp"

namespace attnprobe {
extern const EmbeddedFiles embedded_catalog;
}

namespace attnprobe::explain {
namespace {

constexpr size_t fewest_letters_of_gate = 16;  // part of a gate's message that identifies the gate

std::string releases(const std::string& since, const std::string& until) {
  if (since.empty() && until.empty()) return "";
  if (since == until) return "release " + since;
  return fmt::format("releases {} to {}", since.empty() ? "before" : since, until.empty() ? "the newest" : until);
}

// Cleans it like the searched text (plain_line()).
std::string plain(std::string_view words) {
  std::string plain;
  for (const char c : words)
    if (c != '`' && (c != ' ' || !plain.ends_with(' '))) plain += c;
  return plain;
}

void read_forms(const JsonView& list, Message& message) {
  for (const JsonView& place : list.elements()) {
    JsonObject form(place);
    const auto text = form.find("text"), pattern = form.find("pattern");
    if (text.has_value() == pattern.has_value()) place.fail("allowed: one of \"text\" and \"pattern\"");
    const std::string words = plain(text ? text->text() : pattern->text());
    message.match.push_back(text ? RE2::QuoteMeta(words) : words);
    const auto since = form.find("since"), until = form.find("until"), seen = form.find("seen");
    message.versions.push_back(seen ? seen->text() : releases(since ? since->text() : "", until ? until->text() : ""));
    form.finish();
  }
}

std::vector<Cause> causes_of(const JsonView& list) {
  std::vector<Cause> causes;
  for (const JsonView& place : list.elements()) {
    if (place.json().is_string()) {
      causes.push_back({place.text()});
      continue;
    }
    JsonObject entry(place);
    Cause& cause = causes.emplace_back();
    cause.text = entry.take("cause").text();
    const auto version = [&](const char* key) {
      const auto value = entry.find(key);
      return value ? CudnnVersion::parse(value->text()).value() : CudnnVersion();
    };
    const auto sm = [&](const char* key) {
      const auto value = entry.find(key);
      return value ? static_cast<int>(value->integer()) : 0;
    };
    cause.sm_from = sm("sm_from");
    cause.sm_below = sm("sm_below");
    cause.from = version("cudnn_from");
    cause.below = version("cudnn_below");
    entry.finish();
  }
  return causes;
}

Message read_message(JsonObject& entry) {
  Message message;
  message.id = entry.take("id").text();
  message.layer = entry.take("layer").one_of<Layer>();
  message.who = entry.take("who").text();
  message.means = entry.take("means").text();
  message.causes = causes_of(entry.take("causes"));
  message.next = entry.take("next").text();
  message.source = entry.take("source").text();
  message.example = entry.take("example").text();
  message.counter_example = entry.take("counter_example").text();
  if (const auto headline = entry.find("headline")) message.headline = headline->text();
  if (const auto kind = entry.find("kind")) message.kind = kind->one_of<MessageKind>();
  message.says_why = message.kind != MessageKind::general;
  if (const auto for_builder = entry.find("is_for_builder")) message.is_for_builder = for_builder->boolean();
  if (const auto says_why = entry.find("says_why")) message.says_why = says_why->boolean();
  return message;
}

struct Catalog {
  std::vector<Message> messages, reports;
  std::vector<Program> programs;
};

void read_file(const EmbeddedFile& file, Catalog& catalog) {
  const JsonSource source{.name = std::string(file.name), .kind = ErrorKind::internal};
  const Json json = parse_json(file.text, source);
  const JsonView document(json, source);
  document.only_keys({"title", "messages", "reports", "programs"});
  for (const JsonView& place : document.elements_or_none("messages")) {
    JsonObject entry(place);
    Message message = read_message(entry);
    read_forms(entry.take("texts"), message);
    entry.finish();
    catalog.messages.push_back(std::move(message));
  }
  for (const JsonView& place : document.elements_or_none("reports")) {
    JsonObject entry(place);
    Message report = read_message(entry);
    report.kind = MessageKind::reading;
    report.all = entry.take("all").texts();
    if (const auto unless = entry.find("unless")) report.unless = unless->text();
    entry.finish();
    catalog.reports.push_back(std::move(report));
  }
  for (const JsonView& place : document.elements_or_none("programs")) {
    JsonObject entry(place);
    Program program;
    program.name = entry.take("name").text();
    program.modules = entry.take("modules").texts();
    if (const auto parts = entry.find("to_cudnn")) program.to_cudnn = parts->texts();
    program.instead = entry.take("instead").text();
    if (const auto says = entry.find("says")) program.says = says->text();
    entry.finish();
    catalog.programs.push_back(std::move(program));
  }
}

// "…got {dtype}, …" as a pattern with a group per value.
std::string pattern_of(std::string_view message) {
  std::string pattern;
  for (size_t at = 0; at < message.size();) {
    const size_t open = message.find('{', at), close = open == std::string_view::npos ? open : message.find('}', open);
    const bool is_key =
        close != std::string_view::npos && close - open > 1 &&
        message.substr(open + 1, close - open - 1).find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") ==
            std::string_view::npos;
    const size_t end = is_key ? open : close == std::string_view::npos ? message.size() : close + 1;
    pattern += RE2::QuoteMeta(std::string(message.substr(at, end - at)));
    if (is_key) pattern += close + 1 == message.size() ? "([^ ,.]{1,60})" : "(.{1,60}?)";
    at = is_key ? close + 1 : end;
  }
  return pattern;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" `");
  return begin == std::string_view::npos ? std::string_view()
                                         : text.substr(begin, text.find_last_not_of(" `") + 1 - begin);
}

std::string releases_of(const rules::FrameworkRule& rule) {
  const std::string &from = rule.span.from, &below = rule.span.below;
  if (below.empty()) return from.empty() ? "" : fmt::format("releases from {} on", from);
  return fmt::format("releases {}before {}", from.empty() ? "" : from + " and newer, ", below);
}

}  // namespace

Message message_of(const rules::FrameworkGate& gate, const rules::FrameworkRule& rule) {
  Message message;
  message.id = fmt::format("{}:{}", gate.framework, rule.id);
  message.who = gate.title;
  std::string words = plain(trimmed(rule.message));
  const bool has_stop = words.ends_with('.');  // a quotation may lack it
  if (has_stop) words.pop_back();
  message.match = {pattern_of(words) + (has_stop ? "\\.?" : "")};
  message.means = fmt::format("{} refuses {}.", gate.title, rule.what);
  message.next = rule.change;
  message.versions = {releases_of(rule)};
  message.source = rule.source.text;
  message.rule = &rule;
  return message;
}

namespace {

// Words that a gate uses for several reasons do not identify any of them.
Message message_of(const rules::FrameworkGate& gate, const std::vector<const rules::FrameworkRule*>& rules) {
  Message message = explain::message_of(gate, *rules.front());
  message.alike.assign(rules.begin() + 1, rules.end());
  const bool is_one_reason =
      std::ranges::all_of(rules, [&](const auto* rule) { return rule->what == rules.front()->what; });
  if (is_one_reason) return message;
  message.id = fmt::format("{}_or_{}_more", message.id, rules.size() - 1);
  message.means =
      fmt::format("{} gives this message for {} different reasons and does not say which.", gate.title, rules.size());
  message.next = "ask about the call itself, with its shape, release and GPU";
  constexpr size_t most_listed = 3;
  if (rules.size() <= most_listed)
    for (const auto* rule : rules)
      message.causes.push_back({fmt::format("{}: {}", without_values(rule->what), rule->change)});
  message.says_why = false;
  message.versions = {""};
  return message;
}

void add_gates(std::vector<Message>& all) {
  for (const rules::FrameworkGate& gate : rules::framework_gates()) {
    std::map<std::string_view, std::vector<const rules::FrameworkRule*>> by_words;
    for (const rules::FrameworkRule& rule : gate.rules)
      if (trimmed(rule.message).size() >= fewest_letters_of_gate) by_words[trimmed(rule.message)].push_back(&rule);
    for (const rules::FrameworkRule& rule : gate.rules)  // for equal matches, the order of rules decides
      if (const auto group = by_words.find(trimmed(rule.message));
          group != by_words.end() && group->second.front() == &rule)
        all.push_back(message_of(gate, group->second));
  }
}

// The innermost layer first: cuDNN's own reasons.
void add_reasons(std::vector<Message>& all) {
  for (const answer::KnownReason& reason : answer::known_reasons()) {
    const std::string words = words_of_reason(reason);
    if (words.empty()) continue;
    Message& message = all.emplace_back();
    message.id = reason.id;
    message.layer = layer_of(reason.category);
    message.who = "cuDNN";
    message.means = reason.meaning;
    message.next = reason.help;
    message.source = reason.source;
    message.match = {RE2::QuoteMeta(plain(words))};
    const bool is_seen = !reason.since.empty() || !reason.until.empty();
    message.versions = {is_seen ? fmt::format("seen with cuDNN {} to {}", reason.since.empty() ? "9.8.0" : reason.since,
                                              reason.until.empty() ? "the newest" : reason.until)
                                : ""};
    message.reason = &reason;
  }
}

const Catalog& catalog() {
  static const Catalog read = [] {
    // Reading the files of rules and messages takes time.
    const auto gates = std::async(std::launch::async, [] { return rules::framework_gates().size(); });
    Catalog all;
    for (const EmbeddedFile& file : embedded_catalog) read_file(file, all);
    gates.wait();
    add_gates(all.messages);
    add_reasons(all.messages);
    return all;
  }();
  return read;
}

}  // namespace

Layer layer_of(answer::Category category) {
  switch (category) {
    case answer::Category::environment:
      return Layer::environment;
    case answer::Category::compilation:
      return Layer::plan_compilation;
    case answer::Category::execution:
    case answer::Category::cuda_error:
    case answer::Category::cudnn_error:
      return Layer::execution;
    case answer::Category::no_candidates:
      return Layer::cudnn_heuristics;
    default:
      return Layer::cudnn_engine;
  }
}

std::string words_of_reason(const answer::KnownReason& reason) {
  if (reason.wrapper) return "";
  const std::string& words = !reason.whole.empty() ? reason.whole : reason.begins + reason.match;
  const bool two_parts = !reason.begins.empty() && !reason.match.empty();
  const std::string& longest =
      two_parts ? (reason.begins.size() > reason.match.size() ? reason.begins : reason.match) : words;
  return longest.size() < 8 ? "" : longest;
}

std::string without_values(const std::string& text) {
  return rules::filled(text, [](const std::string&) { return std::string("…"); });
}

const std::vector<Message>& messages() {
  return catalog().messages;
}

const std::vector<Message>& reports() {
  return catalog().reports;
}

const std::vector<Program>& programs() {
  return catalog().programs;
}

}  // namespace attnprobe::explain
