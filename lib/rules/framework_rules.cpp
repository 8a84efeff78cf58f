#include "rules/framework_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "rules/condition.hpp"
#include "rules/rule_reading.hpp"

namespace attnprobe {
extern const EmbeddedFiles embedded_rules;
}

namespace attnprobe::rules {
namespace {

// The common part of a group's entries.
struct Group {
  std::string path, function;
  Json when;  // null: always
};

// The common part of all entries, while a file is read.
struct Reader {
  std::string file;
  FrameworkRules rules;
  std::string base_url, url;
  std::string_view release;
  std::set<std::string> ids;

  Releases releases(JsonObject& entry) const;
  bool is_meant(const Releases& of_entry) const;
  Source source(const Group& group, JsonObject& entry, const Releases& of_entry) const;
  Json when(const Group& group, const std::optional<JsonView>& own) const;
  /// Calls take(entry, group) for every entry of the section.
  template <class Take>
  void section(JsonObject& whole, const char* name, const Take& take);
};

std::vector<ProblemKey> keys_in(const std::optional<JsonView>& given) {
  if (!given) return problem_keys();
  std::vector<ProblemKey> keys;
  for (const auto& [name, place] : given->members()) {
    JsonObject entry(place);
    ProblemKey key;
    key.name = name;
    key.kind = entry.take("kind").one_of<KeyKind>();
    key.help = words_in(entry.take("help"));
    const auto values = entry.find("values");
    if (values.has_value() != (key.kind == KeyKind::text)) place.fail("a text, and only a text, has \"values\"");
    if (values) key.values = values->texts();
    entry.finish();
    keys.push_back(std::move(key));
  }
  return keys;
}

Releases Reader::releases(JsonObject& entry) const {
  Releases found;
  for (const auto& [key, release_of] : {std::pair{"from", &found.from}, std::pair{"until", &found.until}}) {
    const auto given = entry.find(key);
    if (!given) continue;
    *release_of = given->text();
    if (rules.oldest.empty() || !is_version(*release_of) ||
        version_numbers(*release_of) < version_numbers(rules.oldest) ||
        version_numbers(*release_of) > version_numbers(rules.version))
      given->fail(fmt::format("expected a release from {} to {}", rules.oldest, rules.version));
  }
  return found;
}

bool Reader::is_meant(const Releases& of_entry) const {
  if (release == "all") return true;
  const auto asked = version_numbers(release);
  return (of_entry.from.empty() || asked >= version_numbers(of_entry.from)) &&
         (of_entry.until.empty() || asked <= version_numbers(of_entry.until));
}

// Line numbers are from the last release with these lines.
Source Reader::source(const Group& group, JsonObject& entry, const Releases& of_entry) const {
  const std::string version = of_entry.until.empty() ? rules.version : of_entry.until + ".0";
  std::string base = base_url;
  constexpr std::string_view place_of_version = "{version}";
  if (const auto at = base.find(place_of_version); at != base.npos) base.replace(at, place_of_version.size(), version);
  std::string text = fmt::format("{} {}, {}", rules.framework, version, group.path.substr(group.path.rfind('/') + 1));
  if (!group.function.empty()) text += fmt::format(", {}", group.function);
  const auto line = entry.find("line");
  if (!line) return {text, url.empty() ? base + group.path : url};
  if (base_url.empty()) line->fail("a line needs the file's \"base_url\"");
  const int64_t number = line->integer(1);
  return {fmt::format("{} line {}", text, number), fmt::format("{}{}#L{}", base, group.path, number)};
}

// The entry's condition combined with its group's; null if neither has a condition.
Json Reader::when(const Group& group, const std::optional<JsonView>& own) const {
  Json mine = own ? condition_in(*own, rules.keys) : Json();
  if (group.when.is_null()) return mine;
  return mine.is_null() ? group.when : Json{{"all", {group.when, mine}}};
}

template <class Take>
void Reader::section(JsonObject& whole, const char* name, const Take& take) {
  const auto groups = whole.find(name);
  if (!groups) return;
  for (const JsonView& place : groups->elements()) {
    JsonObject object(place);
    Group group;
    group.path = words_in(object.take("file"));
    if (const auto function = object.find("function")) group.function = words_in(*function);
    if (const auto condition = object.find("when")) group.when = condition_in(*condition, rules.keys);
    for (JsonObject& entry : entries_in(object.take("rules"), file, ids)) {
      take(entry, group);
      entry.finish();
    }
    object.finish();
  }
}

std::string message_in(const JsonView& place, const std::vector<ProblemKey>& keys) {
  std::string message = words_in(place);
  for (size_t at = message.find('{'); at != message.npos; at = message.find('{', at + 1)) {
    const std::string name = message.substr(at + 1, message.find('}', at) - at - 1);
    if (find_key(keys, name) == nullptr) place.fail(fmt::format("\"{{{}}}\" is not a key", name));
  }
  return message;
}

// A rule that no config can trigger may have the reason instead of examples.
Examples examples_or_none(JsonObject& entry) {
  const auto unreachable = entry.find("unreachable");
  if (!unreachable) return take_examples(entry);
  words_in(*unreachable);
  return {};
}

// A built-in file, "cudnn-frontend/1.23.json".
struct BuiltIn {
  FrameworkVersion name;
  std::string file;
  std::string_view text;
  std::once_flag once;
  std::optional<FrameworkRules> rules;          ///< rules of the file's own version
  std::mutex mutex;                             ///< guards `older`
  std::map<std::string, FrameworkRules> older;  ///< earlier releases of the file; entries never move
};

std::vector<std::unique_ptr<BuiltIn>>& built_in() {
  static std::vector<std::unique_ptr<BuiltIn>> files = [] {
    std::vector<std::unique_ptr<BuiltIn>> found;
    for (const auto& [file, text] : embedded_rules) {
      const size_t slash = file.find('/');
      const std::string_view stem = file.substr(slash + 1, file.rfind(".json") - slash - 1);
      if (!is_version(stem)) continue;  // skips cudnn/requirements.json
      auto one = std::make_unique<BuiltIn>();
      one->name = {std::string(file.substr(0, slash)), std::string(stem)};
      one->file = file;
      one->text = text;
      found.push_back(std::move(one));
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
      return std::pair(a->name.framework, version_numbers(a->name.version)) <
             std::pair(b->name.framework, version_numbers(b->name.version));
    });
    return found;
  }();
  return files;
}

// The rules of the file's own version.
const FrameworkRules& rules_of(BuiltIn& file) {
  std::call_once(file.once, [&] {
    FrameworkRules rules = parse_framework_rules(file.text, file.file, file.name.version);
    if (rules.framework != file.name.framework || !is_of_version(rules.version, file.name.version))
      bad_entry(file.file, fmt::format("it says that it is of {} {}", rules.framework, rules.version));
    file.rules = std::move(rules);
  });
  return *file.rules;
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
  Reader reader;
  reader.file = file;
  reader.release = release;
  FrameworkRules& rules = reader.rules;
  rules.framework = words_in(whole.take("framework"));
  rules.version = words_in(whole.take("version"));
  if (const auto oldest = whole.find("oldest")) rules.oldest = words_in(*oldest);
  const auto url = whole.find("url"), base_url = whole.find("base_url");
  if (url.has_value() == base_url.has_value()) whole.place().fail("one of \"url\" and \"base_url\" is required");
  if (url) reader.url = words_in(*url);
  if (base_url) reader.base_url = words_in(*base_url);
  rules.keys = keys_in(whole.find("keys"));
  reader.section(whole, "refusals", [&](JsonObject& entry, const Group& group) {
    FrameworkRule rule;
    rule.id = entry.take("id").text();
    if (const auto pass = entry.find("pass")) rule.pass = pass->word({"forward", "backward"});
    if (const auto status = entry.find("status")) rule.status = words_in(*status);
    rule.message = message_in(entry.take("message"), rules.keys);
    if (const auto of_package = entry.find("of_package")) rule.of_package = of_package->boolean();
    rule.releases = reader.releases(entry);
    rule.source = reader.source(group, entry, rule.releases);
    rule.when = reader.when(group, entry.take("when"));
    rule.examples = examples_or_none(entry);
    if (reader.is_meant(rule.releases)) rules.refusals.push_back(std::move(rule));
  });
  reader.section(whole, "unified", [&](JsonObject& entry, const Group& group) {
    FormNeed need;
    need.id = entry.take("id").text();
    need.feature = words_in(entry.take("feature"));
    need.cudnn_from = version_in(entry.find("cudnn"));
    need.releases = reader.releases(entry);
    need.source = reader.source(group, entry, need.releases);
    need.when = reader.when(group, entry.take("when"));
    need.examples = take_examples(entry);
    if (reader.is_meant(need.releases)) rules.unified.push_back(std::move(need));
  });
  reader.section(whole, "facts", [&](JsonObject& entry, const Group& group) {
    FrameworkFact fact;
    fact.id = entry.take("id").text();
    fact.what = words_in(entry.take("what"));
    fact.cudnn_from = version_in(entry.find("cudnn"));
    fact.cudnn_below = version_in(entry.find("below"));
    fact.when = reader.when(group, entry.find("when"));
    const Releases releases = reader.releases(entry);
    fact.source = reader.source(group, entry, releases);
    if (reader.is_meant(releases)) rules.facts.push_back(std::move(fact));
  });
  reader.section(whole, "forced_configs", [&](JsonObject& entry, const Group& group) {
    ForcedConfigRule rule;
    rule.id = entry.take("id").text();
    rule.when = reader.when(group, entry.take("when"));
    rule.engine = entry.take("engine").integer(0);
    for (const auto& [knob, value] : entry.take("knobs").members()) rule.knobs[knob] = value.integer();
    const Releases releases = reader.releases(entry);
    rule.source = reader.source(group, entry, releases);
    if (reader.is_meant(releases)) rules.forced_configs.push_back(std::move(rule));
  });
  whole.finish();
  if (reader.ids.empty()) whole.place().fail("no entries");
  // Rules of an older release name that release.
  if (release != "all" && !is_of_version(rules.version, release)) rules.version = fmt::format("{}.0", release);
  return std::move(reader.rules);
}

const std::vector<FrameworkVersion>& framework_versions() {
  static const std::vector<FrameworkVersion> names = [] {
    std::vector<FrameworkVersion> all;
    for (const auto& one : built_in()) all.push_back(one->name);
    return all;
  }();
  return names;
}

const FrameworkRules& framework_rules(std::string_view framework, std::string_view version) {
  BuiltIn* found = nullptr;
  for (const auto& one : built_in()) {
    if (one->name.framework != framework) continue;
    if (version.empty() || is_of_version(one->name.version, version) || is_of_version(version, one->name.version))
      found = one.get();
  }
  if (found != nullptr) return rules_of(*found);
  for (const auto& one : built_in()) {
    if (one->name.framework != framework || !is_version(version)) continue;
    const FrameworkRules& newest = rules_of(*one);
    const auto asked = version_numbers(version);
    if (newest.oldest.empty() || asked < version_numbers(newest.oldest) || asked > version_numbers(newest.version))
      continue;
    const std::lock_guard lock(one->mutex);
    auto& older = one->older;
    const std::string release(version);
    if (older.count(release) == 0) older.emplace(release, parse_framework_rules(one->text, one->file, release));
    return older.at(release);
  }
  throw Error(ErrorKind::internal, fmt::format("no rules of {} {} are built in", framework, version));
}

const FrameworkRules& frontend_rules(const std::optional<std::string>& release) {
  return framework_rules("cudnn-frontend", release ? std::string_view(*release) : std::string_view());
}

bool is_of_package(const FrontendAnswer& answer) {
  if (!answer.refuses) return false;
  const auto& rules = frontend_rules(FrontendVersion::parse(answer.version).value().short_text()).refusals;
  return std::any_of(rules.begin(), rules.end(),
                     [&](const FrameworkRule& rule) { return rule.of_package && rule.id == answer.id; });
}

std::vector<const FrameworkRule*> refusals_of(const FrameworkRules& rules, const Json& problem) {
  std::vector<const FrameworkRule*> refusals;
  for (const FrameworkRule& rule : rules.refusals)
    if (holds(rule.when, problem)) refusals.push_back(&rule);
  return refusals;
}

std::string message_for(const FrameworkRule& rule, const Json& problem) {
  std::string text;
  for (size_t at = 0; at < rule.message.size();) {
    const size_t open = std::min(rule.message.find('{', at), rule.message.size());
    text += rule.message.substr(at, open - at);
    if (open == rule.message.size()) break;
    const size_t close = rule.message.find('}', open);
    const Json& value = problem.at(rule.message.substr(open + 1, close - open - 1));
    text += value.is_string() ? value.get<std::string>() : json_text(value);
    at = close + 1;
  }
  return text;
}

}  // namespace attnprobe::rules
