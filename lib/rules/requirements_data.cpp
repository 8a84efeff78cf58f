// Reading the data of the version rules, with every member checked: a slip in it must not pass in silence.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "rules/condition.hpp"
#include "rules/requirements.hpp"

namespace attnprobe {
extern const std::vector<std::pair<std::string_view, std::string_view>> embedded_rules;
}

namespace attnprobe::rules {
namespace {

using Names = std::vector<std::string>;

[[noreturn]] void bad_entry(const std::string& where, const std::string& what) {
  throw Error(ErrorKind::internal, fmt::format("{}: {}", where, what));
}

// JSON lets a later member hide an earlier one of the same name, which would drop half a condition.
Json parse_unique(std::string_view text, const std::string& file) {
  std::vector<std::set<std::string>> open;
  std::string repeated;
  auto watch = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second)
      repeated = value.get<std::string>();
    return true;
  };
  Json json;
  try {
    json = Json::parse(text, watch);
  } catch (const Json::exception& e) {
    bad_entry(file, e.what());
  }
  if (!repeated.empty()) bad_entry(file, fmt::format("\"{}\" is twice in one object", repeated));
  return json;
}

// Every required member is there and no other than these.
void check_members(const Json& entry, const Names& required, const Names& optional, const std::string& where) {
  if (!entry.is_object()) bad_entry(where, "an object is wanted");
  for (const auto& name : required)
    if (!entry.contains(name)) bad_entry(where, fmt::format("\"{}\" is missing", name));
  Names known = required;
  known.insert(known.end(), optional.begin(), optional.end());
  for (const auto& [name, value] : entry.items())
    if (std::find(known.begin(), known.end(), name) == known.end())
      bad_entry(where, fmt::format("unknown member \"{}\"{}", name, did_you_mean(name, known)));
}

std::string text_of(const Json& entry, const std::string& name, const std::string& where) {
  const Json& value = entry.at(name);
  if (!value.is_string() || trim(value.get_ref<const std::string&>()).empty())
    bad_entry(where, fmt::format("\"{}\" wants a text", name));
  return value;
}

CudnnVersion version_of(const Json& entry, const std::string& name, const std::string& where) {
  if (!entry.contains(name)) return {};
  const std::string text = text_of(entry, name, where);
  const auto version = CudnnVersion::parse(text);
  if (!version || version->text() != text)
    bad_entry(where, fmt::format("\"{}\" wants a version such as \"9.14.0\"", name));
  return *version;
}

Source source_of(const Json& entry, const std::string& where) {
  const Json& source = entry.at("source");
  check_members(source, {"text", "url"}, {}, where + ", source");
  return {text_of(source, "text", where), text_of(source, "url", where)};
}

Examples examples_of(const Json& entry, const std::string& where) {
  Examples examples;
  if (entry.contains("unreachable")) {
    text_of(entry, "unreachable", where);
    if (entry.contains("affected")) bad_entry(where, "what is unreachable has no example");
    return examples;
  }
  for (const char* name : {"affected", "unaffected"})
    if (!entry.contains(name)) bad_entry(where, fmt::format("\"{}\" is missing", name));
  examples.affected = entry.at("affected");
  examples.unaffected = entry.at("unaffected").get<std::vector<Json>>();
  if (!examples.affected.is_object() || examples.unaffected.empty())
    bad_entry(where, "an example that is affected and one that is not are wanted");
  return examples;
}

Json condition_of(const Json& entry, const std::string& where) {
  check_condition(entry.at("when"), where + ", when");
  return entry.at("when");
}

// The entries of a file, each with its place for messages.
std::vector<std::pair<std::string, Json>> entries_of(const Json& list, const std::string& file,
                                                     std::set<std::string>& ids) {
  std::vector<std::pair<std::string, Json>> entries;
  for (const Json& entry : list) {
    if (!entry.is_object() || !entry.contains("id"))
      bad_entry(file, fmt::format("an entry has no \"id\": {}", json_text(entry)));
    const std::string id = text_of(entry, "id", file);
    if (!ids.insert(id).second) bad_entry(file, fmt::format("\"{}\" is there twice", id));
    entries.emplace_back(fmt::format("{}, {}", file, id), entry);
  }
  if (entries.empty()) bad_entry(file, "no entries");
  return entries;
}

std::string embedded(std::string_view name) {
  for (const auto& [file, text] : embedded_rules)
    if (file == name) return std::string(text);
  bad_entry(std::string(name), "not built in");
}

}  // namespace

std::vector<RequirementRule> parse_requirements(std::string_view text) {
  const std::string file = "requirements.json";
  const Json json = parse_unique(text, file);
  check_members(json, {"comment", "requirements"}, {}, file);
  std::vector<RequirementRule> rules;
  std::set<std::string> ids;
  for (const auto& [where, entry] : entries_of(json.at("requirements"), file, ids)) {
    check_members(entry, {"id", "feature", "when", "needs", "source"}, {"affected", "unaffected"}, where);
    const Json& needs = entry.at("needs");
    check_members(needs, {}, {"cudnn", "below", "sm", "sm_text"}, where + ", needs");
    if (needs.empty()) bad_entry(where, "\"needs\" is empty");
    if (needs.contains("sm") != needs.contains("sm_text")) bad_entry(where, "\"sm\" and \"sm_text\" go together");
    RequirementRule rule;
    rule.when = condition_of(entry, where);
    rule.cudnn_from = version_of(needs, "cudnn", where);
    rule.cudnn_below = version_of(needs, "below", where);
    std::string words;
    auto add = [&](const std::string& part) { words += (words.empty() ? "" : " and ") + part; };
    if (rule.cudnn_from.is_known()) add(fmt::format("cuDNN {}", text_of(needs, "cudnn", where)));
    if (rule.cudnn_below.is_known()) add(fmt::format("a cuDNN before {}", text_of(needs, "below", where)));
    if (needs.contains("sm")) {
      rule.sm = {{"sm", needs.at("sm")}};
      check_condition(rule.sm, where + ", needs");
      add(text_of(needs, "sm_text", where));
    }
    rule.entry = {entry.at("id"), text_of(entry, "feature", where), words, "", source_of(entry, where)};
    rule.examples = examples_of(entry, where);
    rules.push_back(std::move(rule));
  }
  return rules;
}

std::vector<KnownBugRule> parse_known_bugs(std::string_view text) {
  const std::string file = "known_bugs.json";
  const Json json = parse_unique(text, file);
  check_members(json, {"comment", "known_bugs"}, {}, file);
  std::vector<KnownBugRule> rules;
  std::set<std::string> ids;
  for (const auto& [where, entry] : entries_of(json.at("known_bugs"), file, ids)) {
    check_members(entry, {"id", "what", "when", "advice", "source"}, {"fixed_in", "affected", "unaffected"}, where);
    const bool fixed = version_of(entry, "fixed_in", where).is_known();
    rules.push_back({{entry.at("id"), text_of(entry, "what", where), text_of(entry, "advice", where),
                      fixed ? text_of(entry, "fixed_in", where) : "", source_of(entry, where)},
                     condition_of(entry, where),
                     examples_of(entry, where)});
  }
  return rules;
}

std::vector<FrontendRule> parse_frontend_rules(std::string_view text) {
  const std::string file = "frontend_rules.json";
  const Json json = parse_unique(text, file);
  check_members(json, {"comment", "version", "base_url", "groups"}, {}, file);
  const std::string version = text_of(json, "version", file), base = text_of(json, "base_url", file);
  const Names statuses{"GRAPH_NOT_SUPPORTED", "ATTRIBUTE_NOT_SET", "INVALID_VALUE", "CUDNN_BACKEND_API_FAILED",
                       "exception"};
  std::vector<FrontendRule> rules;
  std::set<std::string> ids;
  for (const Json& group : json.at("groups")) {
    check_members(group, {"when", "file", "rules"}, {}, file + ", a group");
    const Json applies = condition_of(group, file + ", a group");
    const std::string source_file = text_of(group, "file", file);
    for (const auto& [where, entry] : entries_of(group.at("rules"), file, ids)) {
      check_members(entry, {"id", "line", "status", "message", "when"}, {"affected", "unaffected", "unreachable"},
                    where);
      const std::string status = text_of(entry, "status", where);
      if (std::find(statuses.begin(), statuses.end(), status) == statuses.end())
        bad_entry(where, fmt::format("unknown status; it is one of {}", quoted_list(statuses)));
      const auto line = entry.at("line").get<int64_t>();
      const std::string name = source_file.substr(source_file.rfind('/') + 1);
      const Source source{fmt::format("cudnn-frontend {}, {} line {}", version, name, line),
                          fmt::format("{}{}#L{}", base, source_file, line)};
      rules.push_back({{version, true, entry.at("id"), status, text_of(entry, "message", where), source},
                       {{"all", Json::array({applies, condition_of(entry, where)})}},
                       examples_of(entry, where)});
    }
  }
  return rules;
}

const std::vector<RequirementRule>& requirement_rules() {
  static const auto rules = parse_requirements(embedded("requirements.json"));
  return rules;
}

const std::vector<KnownBugRule>& known_bug_rules() {
  static const auto rules = parse_known_bugs(embedded("known_bugs.json"));
  return rules;
}

const std::vector<FrontendRule>& frontend_rules() {
  static const auto rules = parse_frontend_rules(embedded("frontend_rules.json"));
  return rules;
}

}  // namespace attnprobe::rules
