// Reads lib/rules/cudnn: requirements of features, and known bugs.
#include <fmt/format.h>

#include <algorithm>

#include "rules/condition.hpp"
#include "rules/requirements.hpp"
#include "rules/rule_reading.hpp"

namespace attnprobe::rules {

namespace {

void read_needs(const JsonView& place, RequirementRule& rule) {
  JsonObject needs(place);
  if (place.json().empty()) place.fail("it is empty");
  rule.cudnn_from = version_in(needs.find("cudnn"));
  rule.cudnn_below = version_in(needs.find("below"));
  if (rule.cudnn_from.is_known()) rule.needs_cudnn = fmt::format("cuDNN {}", rule.cudnn_from.text());
  if (rule.cudnn_below.is_known())
    rule.needs_cudnn = rule.needs_cudnn.empty()
                           ? fmt::format("a cuDNN before {}", rule.cudnn_below.text())
                           : fmt::format("{} or newer, but older than {}", rule.needs_cudnn, rule.cudnn_below.text());
  const auto sm = needs.find("sm"), sm_text = needs.find("sm_text");
  if (sm.has_value() != sm_text.has_value()) place.fail("\"sm\" and \"sm_text\" go together");
  if (sm) {
    rule.sm = {{"sm", sm->json()}};
    check_condition(place.with(rule.sm));
    rule.needs_gpu = words_in(*sm_text);
  }
  std::string& words = rule.entry.needs;
  words = rule.needs_cudnn + (rule.needs_cudnn.empty() || rule.needs_gpu.empty() ? "" : " and ") + rule.needs_gpu;
  if (const auto never = needs.find("never")) {
    if (!words.empty()) place.fail("\"never\" is the only key");
    rule.never = true;
    rule.instead = words_in(*never);
    words = "what no cuDNN has so far";
  }
  needs.finish();
}

}  // namespace

std::vector<RequirementRule> parse_requirements(std::string_view text) {
  const std::string name = "requirements.json";
  const Json json = parse_json(text, rule_source(name), {.comments = false});
  JsonObject file(JsonView(json, rule_source(name)));
  file.take("comment").text();
  std::vector<RequirementRule> rules;
  std::set<std::string> ids;
  for (JsonObject& entry : entries_in(file.take("requirements"), name, ids)) {
    RequirementRule rule;
    rule.entry.id = entry.take("id").text();
    rule.entry.feature = words_in(entry.take("feature"));
    if (const auto plural = entry.find("plural")) rule.is_plural = plural->boolean();
    rule.when = condition_in(entry.take("when"));
    read_needs(entry.take("needs"), rule);
    rule.entry.source = source_in(entry.take("source"));
    rule.examples = take_examples(entry);
    entry.finish();
    rules.push_back(std::move(rule));
  }
  file.finish();
  return rules;
}

namespace {

// By default, the command of a measured bug's source shows the bug.
std::string experiment_in(const std::optional<JsonView>& given, const Source& source) {
  constexpr std::string_view program = "attnprobe ";
  if (given) return given->text();
  return source.url.starts_with(program) ? source.url.substr(program.size()) : "";
}

std::vector<BugShows> shows_in(const std::optional<JsonView>& given) {
  if (!given) return {BugShows::wrong_results};
  std::vector<BugShows> shows;
  for (const JsonView& one : given->elements()) shows.push_back(one.one_of<BugShows>());
  if (shows.empty()) given->fail("at least one is required");
  return shows;
}

}  // namespace

std::vector<KnownBugRule> parse_known_bugs(std::string_view text) {
  const std::string name = "known_bugs.json";
  const Json json = parse_json(text, rule_source(name), {.comments = false});
  JsonObject file(JsonView(json, rule_source(name)));
  file.take("comment").text();
  std::vector<KnownBugRule> rules;
  std::set<std::string> ids;
  for (JsonObject& entry : entries_in(file.take("known_bugs"), name, ids)) {
    KnownBugRule rule;
    rule.entry.id = entry.take("id").text();
    rule.entry.what = words_in(entry.take("what"));
    rule.entry.advice = words_in(entry.take("advice"));
    if (const auto fixed_in = version_in(entry.find("fixed_in")); fixed_in.is_known())
      rule.entry.fixed_in = fixed_in.text();
    if (const auto of_compiling = entry.find("of_compiling")) rule.entry.of_compiling = of_compiling->boolean();
    if (const auto others = entry.find("of_other_configs")) rule.entry.of_other_configs = others->boolean();
    rule.shows = shows_in(entry.find("shows"));
    rule.entry.source = source_in(entry.take("source"));
    rule.experiment = experiment_in(entry.find("experiment"), rule.entry.source);
    if (const auto only_if = entry.find("only_if")) rule.only_if = words_in(*only_if);
    rule.when = condition_in(entry.take("when"));
    rule.examples = take_examples(entry);
    entry.finish();
    rules.push_back(std::move(rule));
  }
  file.finish();
  return rules;
}

const std::vector<RequirementRule>& requirement_rules() {
  static const auto rules = parse_requirements(embedded_file("cudnn/requirements.json"));
  return rules;
}

const std::vector<KnownBugRule>& known_bug_rules() {
  static const auto rules = parse_known_bugs(embedded_file("cudnn/known_bugs.json"));
  return rules;
}

bool depends_on(const KnownBugRule& bug, std::string_view key) {
  return bug.when.dump().find(fmt::format("\"{}\"", key)) != std::string::npos;
}

const KnownBugRule* find_known_bug(std::string_view id) {
  const auto& rules = known_bug_rules();
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const auto& rule) { return rule.entry.id == id; });
  return found == rules.end() ? nullptr : &*found;
}

}  // namespace attnprobe::rules
