// Reading lib/rules/cudnn: what features need, and known bugs.
#include <fmt/format.h>

#include "rules/condition.hpp"
#include "rules/requirements.hpp"
#include "rules/rule_reading.hpp"

namespace attnprobe::rules {

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

const std::vector<RequirementRule>& requirement_rules() {
  static const auto rules = parse_requirements(embedded_file("cudnn/requirements.json"));
  return rules;
}

const std::vector<KnownBugRule>& known_bug_rules() {
  static const auto rules = parse_known_bugs(embedded_file("cudnn/known_bugs.json"));
  return rules;
}

}  // namespace attnprobe::rules
