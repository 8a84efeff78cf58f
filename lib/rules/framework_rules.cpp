#include "rules/framework_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "rules/condition.hpp"
#include "rules/framework_file.hpp"
#include "rules/rule_reading.hpp"

namespace attnprobe {
extern const EmbeddedFiles embedded_rules;
}

namespace attnprobe::rules {
namespace {

// A built-in file: "cudnn-frontend/1.32.json", with the newest release in its name.
struct BuiltIn {
  std::string file, release;
  std::string_view text;
};

BuiltIn built_in(std::string_view framework) {
  for (const auto& [file, text] : embedded_rules) {
    if (!file.starts_with(fmt::format("{}/", framework))) continue;
    const std::string_view release = file.substr(framework.size() + 1, file.rfind(".json") - framework.size() - 1);
    if (is_version(release)) return {std::string(file), std::string(release), text};
  }
  throw Error(ErrorKind::internal, fmt::format("no rules of {} are built in", framework));
}

}  // namespace

bool FrameworkFact::holds_from(CudnnVersion version) const {
  return version >= cudnn_from && (!cudnn_below.is_known() || version < cudnn_below);
}

const FrameworkFact* FrameworkRules::find_fact(std::string_view id) const {
  for (const FrameworkFact& one : facts)
    if (one.id == id) return &one;
  return nullptr;
}

const FrameworkFact& FrameworkRules::fact(std::string_view id) const {
  if (const FrameworkFact* found = find_fact(id)) return *found;
  throw Error(ErrorKind::internal, fmt::format("the rules of {} {} have no fact \"{}\"", framework, version, id));
}

FrameworkRules parse_framework_rules(std::string_view text, const std::string& file, std::string_view release) {
  const Json json = parse_json(text, rule_source(file), {.comments = false});
  JsonObject whole(JsonView(json, rule_source(file)));
  whole.take("comment").text();
  FrameworkRules rules;
  rules.framework = words_in(whole.take("framework"));
  rules.version = words_in(whole.take("version"));
  if (const auto oldest = whole.find("oldest")) rules.oldest = words_in(*oldest);
  const std::string newest = rules.version;
  if (release != "all" && !is_of_version(newest, release)) {
    const auto asked = release_numbers(release);
    if (!asked || rules.oldest.empty() || *asked < *release_numbers(rules.oldest) || *asked > *release_numbers(newest))
      throw Error(ErrorKind::internal, fmt::format("no rules of {} {} are built in", rules.framework, release));
    rules.version = fmt::format("{}.0", release);
  }
  FrameworkFile entries{.file = file, .framework = rules.framework, .version = newest, .oldest = rules.oldest};
  const auto url = whole.find("url"), base_url = whole.find("base_url");
  if (url.has_value() == base_url.has_value()) whole.place().fail("one of \"url\" and \"base_url\" is required");
  if (url) entries.url = words_in(*url);
  if (base_url) entries.base_url = words_in(*base_url);
  if (const auto keys = whole.find("keys"))
    for (const CallKey& one : call_keys_in(*keys)) entries.keys.push_back(one.key);
  else
    entries.keys = problem_keys();
  rules.keys = entries.keys;
  const auto is_meant = [&](const ReleaseSpan& span) {
    return release == "all" || is_in_force(span, std::string(release));
  };
  entries.entries(whole.take("rules"), [&](JsonObject& entry, const EntryGroup& group) {
    FrameworkRule rule = entries.rule(entry, group);
    if (is_meant(rule.span)) rules.rules.push_back(std::move(rule));
  });
  const auto section = [&](const char* name, const FrameworkFile::Take& take) {
    if (const auto list = whole.find(name)) entries.entries(*list, take);
  };
  section("unified", [&](JsonObject& entry, const EntryGroup& group) {
    FormNeed need;
    need.id = entry.take("id").text();
    need.feature = words_in(entry.take("feature"));
    need.cudnn_from = version_in(entry.find("cudnn"));
    need.span = entries.span(entry);
    need.source = entries.source(entry, group, need.span);
    need.when = entries.when(group, entry.take("when"));
    need.examples = take_examples(entry);
    if (is_meant(need.span)) rules.unified.push_back(std::move(need));
  });
  section("facts", [&](JsonObject& entry, const EntryGroup& group) {
    FrameworkFact fact;
    fact.id = entry.take("id").text();
    fact.what = words_in(entry.take("what"));
    fact.cudnn_from = version_in(entry.find("cudnn"));
    fact.cudnn_below = version_in(entry.find("cudnn_below"));
    fact.when = entries.when(group, entry.find("when"));
    const ReleaseSpan span = entries.span(entry);
    fact.source = entries.source(entry, group, span);
    if (is_meant(span)) rules.facts.push_back(std::move(fact));
  });
  section("forced_configs", [&](JsonObject& entry, const EntryGroup& group) {
    ForcedConfigRule rule;
    rule.id = entry.take("id").text();
    rule.when = entries.when(group, entry.take("when"));
    rule.engine = entry.take("engine").integer(0);
    for (const auto& [knob, value] : entry.take("knobs").members()) rule.knobs[knob] = value.integer();
    const ReleaseSpan span = entries.span(entry);
    rule.source = entries.source(entry, group, span);
    if (is_meant(span)) rules.forced_configs.push_back(std::move(rule));
  });
  whole.finish();
  return rules;
}

const FrameworkRules& framework_rules(std::string_view framework, std::string_view version) {
  using Key = std::pair<std::string, std::string>;
  static std::mutex mutex;  // guards the maps; their entries never move
  static std::map<Key, FrameworkRules> read;
  static std::map<Key, const FrameworkRules*> by_words;
  const std::lock_guard lock(mutex);
  const FrameworkRules*& rules = by_words[{std::string(framework), std::string(version)}];
  if (rules != nullptr) return *rules;
  const BuiltIn file = built_in(framework);
  const bool is_newest =
      version.empty() || is_of_version(file.release, version) || is_of_version(version, file.release);
  const Key release{framework, is_newest ? file.release : version};
  if (!read.contains(release)) read.emplace(release, parse_framework_rules(file.text, file.file, release.second));
  rules = &read.at(release);
  return *rules;
}

const FrameworkRules& frontend_rules(const std::optional<std::string>& release) {
  return framework_rules("cudnn-frontend", release ? std::string_view(*release) : std::string_view());
}

bool is_of_package(const FrontendAnswer& answer) {
  if (!answer.refuses) return false;
  const auto& rules = frontend_rules(FrontendVersion::parse(answer.version).value().short_text()).rules;
  return std::any_of(rules.begin(), rules.end(),
                     [&](const FrameworkRule& rule) { return rule.of_package && rule.id == answer.id; });
}

std::vector<const FrameworkRule*> refusals_of(const FrameworkRules& rules, const Json& problem) {
  std::vector<const FrameworkRule*> refusals;
  for (const FrameworkRule& rule : rules.rules)
    if (holds(rule.when, problem)) refusals.push_back(&rule);
  return refusals;
}

}  // namespace attnprobe::rules
