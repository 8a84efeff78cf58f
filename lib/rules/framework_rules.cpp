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

// The cudnn-frontend whose choices and wiring lib/build follows.
constexpr std::string_view followed_frontend = "1.23";

// A file while it is read: what its entries have in common.
struct Reader {
  std::string file;
  FrameworkRules rules;
  std::string base_url, url;
  std::set<std::string> ids;

  Source source(const Json& group, const Json& entry) const;
  Json when(const Json& group, const Json& entry, const std::string& where) const;
  /// Calls take(entry, where, source, condition) for every entry of the section.
  template <class Take>
  void section(const Json& json, const char* name, const Take& take);
};

std::vector<ProblemKey> keys_of(const Json& json, const std::string& file) {
  if (!json.contains("keys")) return problem_keys();
  std::vector<ProblemKey> keys;
  for (const auto& [name, entry] : json.at("keys").items()) {
    const std::string where = fmt::format("{}, keys, {}", file, name);
    check_members(entry, {"kind", "help"}, {"values"}, where);
    const auto kind = parse_enum<KeyKind>(text_of(entry, "kind", where));
    if (!kind) bad_entry(where, fmt::format("unknown kind; it is one of {}", quoted_list(names_of<KeyKind>())));
    if (entry.contains("values") != (*kind == KeyKind::text))
      bad_entry(where, "a text, and only a text, has \"values\"");
    keys.push_back({name, *kind, entry.value("values", std::vector<std::string>{}), text_of(entry, "help", where)});
  }
  return keys;
}

Source Reader::source(const Json& group, const Json& entry) const {
  const std::string path = group.at("file");
  std::string text = fmt::format("{} {}, {}", rules.framework, rules.version, path.substr(path.rfind('/') + 1));
  if (group.contains("function")) text += fmt::format(", {}", group.at("function").get<std::string>());
  if (!entry.contains("line")) return {text, url.empty() ? base_url + path : url};
  const auto line = entry.at("line").get<int64_t>();
  return {fmt::format("{} line {}", text, line), fmt::format("{}{}#L{}", base_url, path, line)};
}

// The entry's condition under that of its group; null where neither has one.
Json Reader::when(const Json& group, const Json& entry, const std::string& where) const {
  Json all = Json::array();
  for (const Json* part : {&group, &entry})
    if (part->contains("when")) all.push_back(condition_of(*part, where, rules.keys));
  return all.empty() ? Json() : all.size() == 1 ? all.front() : Json{{"all", all}};
}

template <class Take>
void Reader::section(const Json& json, const char* name, const Take& take) {
  if (!json.contains(name)) return;
  for (const Json& group : json.at(name)) {
    const std::string place = fmt::format("{}, {}", file, name);
    check_members(group, {"file", "rules"}, {"when", "function"}, place);
    text_of(group, "file", place);
    for (const auto& [where, entry] : entries_of(group.at("rules"), file, ids)) {
      if (entry.contains("line") && base_url.empty()) bad_entry(where, "a line wants the file's \"base_url\"");
      take(
          entry, where, [&, &one = entry] { return source(group, one); },
          [&, &at = where, &one = entry] { return when(group, one, at); });
    }
  }
}

void check_placeholders(const std::string& message, const std::vector<ProblemKey>& keys, const std::string& where) {
  for (size_t at = message.find('{'); at != message.npos; at = message.find('{', at + 1)) {
    const std::string name = message.substr(at + 1, message.find('}', at) - at - 1);
    if (find_key(keys, name) == nullptr) bad_entry(where, fmt::format("\"{{{}}}\" is not a key", name));
  }
}

// Of the files that are built in, "cudnn-frontend/1.23.json".
struct BuiltIn {
  FrameworkVersion name;
  std::string file;
  std::string_view text;
  std::once_flag once;
  std::optional<FrameworkRules> rules;
};

std::vector<std::unique_ptr<BuiltIn>>& built_in() {
  static std::vector<std::unique_ptr<BuiltIn>> files = [] {
    std::vector<std::unique_ptr<BuiltIn>> found;
    for (const auto& [file, text] : embedded_rules) {
      const size_t slash = file.find('/');
      const std::string_view stem = file.substr(slash + 1, file.rfind(".json") - slash - 1);
      if (!is_version(stem)) continue;  // cudnn/requirements.json
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

}  // namespace

bool FrameworkFact::holds_from(CudnnVersion version) const {
  return version >= cudnn_from && (!cudnn_below.is_known() || version < cudnn_below);
}

const FrameworkFact& FrameworkRules::fact(std::string_view id) const {
  for (const FrameworkFact& one : facts)
    if (one.id == id) return one;
  throw Error(ErrorKind::internal, fmt::format("the rules of {} {} have no fact \"{}\"", framework, version, id));
}

FrameworkRules parse_framework_rules(std::string_view text, const std::string& file) {
  const Json json = parse_unique(text, file);
  check_members(json, {"comment", "framework", "version"},
                {"url", "base_url", "keys", "refusals", "unified", "facts", "forced_configs"}, file);
  Reader reader;
  reader.file = file;
  FrameworkRules& rules = reader.rules;
  rules.framework = text_of(json, "framework", file);
  rules.version = text_of(json, "version", file);
  if (json.contains("url") == json.contains("base_url")) bad_entry(file, "one of \"url\" and \"base_url\" is wanted");
  (json.contains("url") ? reader.url : reader.base_url) =
      text_of(json, json.contains("url") ? "url" : "base_url", file);
  rules.keys = keys_of(json, file);
  reader.section(json, "refusals", [&](const Json& entry, const std::string& where, auto source, auto when) {
    check_members(entry, {"id", "message", "when"}, {"pass", "line", "status", "affected", "unaffected", "unreachable"},
                  where);
    FrameworkRule rule{
        entry.at("id"), entry.value("pass", ""),  entry.value("status", ""), text_of(entry, "message", where), source(),
        when(),         examples_of(entry, where)};
    if (!rule.pass.empty() && rule.pass != "forward" && rule.pass != "backward")
      bad_entry(where, "\"pass\" is forward or backward");
    check_placeholders(rule.message, rules.keys, where);
    rules.refusals.push_back(std::move(rule));
  });
  reader.section(json, "unified", [&](const Json& entry, const std::string& where, auto source, auto when) {
    check_members(entry, {"id", "feature", "when", "affected", "unaffected"}, {"line", "cudnn"}, where);
    rules.unified.push_back({entry.at("id"), text_of(entry, "feature", where), version_of(entry, "cudnn", where),
                             source(), when(), examples_of(entry, where)});
  });
  reader.section(json, "facts", [&](const Json& entry, const std::string& where, auto source, auto when) {
    check_members(entry, {"id", "what"}, {"line", "when", "cudnn", "below"}, where);
    rules.facts.push_back({entry.at("id"), text_of(entry, "what", where), version_of(entry, "cudnn", where),
                           version_of(entry, "below", where), when(), source()});
  });
  reader.section(json, "forced_configs", [&](const Json& entry, const std::string& where, auto source, auto when) {
    check_members(entry, {"id", "when", "engine", "knobs"}, {"line"}, where);
    rules.forced_configs.push_back({entry.at("id"), when(), entry.at("engine").get<int64_t>(),
                                    entry.at("knobs").get<std::map<std::string, int64_t>>(), source()});
  });
  if (reader.ids.empty()) bad_entry(file, "no entries");
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
  if (found == nullptr)
    throw Error(ErrorKind::internal, fmt::format("no rules of {} {} are built in", framework, version));
  std::call_once(found->once, [&] {
    FrameworkRules rules = parse_framework_rules(found->text, found->file);
    if (rules.framework != found->name.framework || !is_of_version(rules.version, found->name.version))
      bad_entry(found->file, fmt::format("it says that it is of {} {}", rules.framework, rules.version));
    found->rules = std::move(rules);
  });
  return *found->rules;
}

const FrameworkRules& frontend_rules() {
  static const FrameworkRules& rules = framework_rules("cudnn-frontend", followed_frontend);
  return rules;
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
