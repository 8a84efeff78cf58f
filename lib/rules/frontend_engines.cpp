#include "rules/frontend_engines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/embedded.hpp"
#include "base/version.hpp"
#include "rules/condition.hpp"
#include "rules/flat_problem.hpp"
#include "rules/rule_reading.hpp"

namespace attnprobe {
extern const EmbeddedFiles embedded_rules;
}

namespace attnprobe::rules {
namespace {

constexpr std::string_view engine_file_start = "engines/cudnn-frontend-";

std::vector<EngineDecline> declines_in(const JsonView& list) {
  std::vector<EngineDecline> declines;
  for (const JsonView& item : list.elements()) {
    JsonObject one(item);
    declines.push_back({words_in(one.take("reason")), condition_in(one.take("when"))});
    one.finish();
  }
  return declines;
}

// The version in a file's name: "1.32" of "engines/cudnn-frontend-1.32.json"; "" for other files.
std::string version_of_file(std::string_view file) {
  if (!file.starts_with(engine_file_start) || !file.ends_with(".json")) return "";
  file.remove_prefix(engine_file_start.size());
  file.remove_suffix(std::string_view(".json").size());
  return std::string(file);
}

// By the version in the file's name, newest last.
using VersionedEngines = std::vector<std::pair<std::string, std::vector<FrontendEngineRule>>>;

const VersionedEngines& engines_by_version() {
  static const VersionedEngines all = [] {
    VersionedEngines read;
    for (const auto& [file, text] : embedded_rules)
      if (const std::string version = version_of_file(file); !version.empty())
        read.emplace_back(version, parse_frontend_engines(text, std::string(file)));
    std::sort(read.begin(), read.end(),
              [](const auto& a, const auto& b) { return version_numbers(a.first) < version_numbers(b.first); });
    return read;
  }();
  return all;
}

bool serves(const FrontendEngineRule& rule, const Json& problem) {
  return holds(rule.when, problem) &&
         std::none_of(rule.declines.begin(), rule.declines.end(),
                      [&](const EngineDecline& decline) { return holds(decline.when, problem); });
}

}  // namespace

std::vector<FrontendEngineRule> parse_frontend_engines(std::string_view text, const std::string& file) {
  const Json json = parse_json(text, rule_source(file), {.comments = false});
  JsonObject whole(JsonView(json, rule_source(file)));
  whole.take("comment").text();
  FrontendEngine shared;
  shared.frontend = words_in(whole.take("frontend"));
  shared.switch_on = words_in(whole.take("switch"));
  shared.needs = words_in(whole.take("needs"));
  shared.source = source_in(whole.take("source"));
  std::vector<FrontendEngineRule> rules;
  std::set<std::string> ids;
  for (const JsonView& item : whole.take("families").elements()) {
    JsonObject family(item);
    const Json for_all = condition_in(family.take("when"));
    const auto family_declines = declines_in(family.take("declines"));
    for (JsonObject& engine : entries_in(family.take("engines"), file, ids)) {
      FrontendEngineRule rule;
      rule.entry = shared;
      rule.entry.id = engine.take("id").text();
      rule.entry.what = words_in(engine.take("what"));
      rule.entry.by_default = engine.take("default").boolean();
      if (rule.entry.by_default) rule.entry.switch_on.clear();
      if (const auto provided = engine.find("provided")) rule.entry.provided = words_in(*provided);
      const JsonView sm = engine.take("sm");
      const Json gpus{{"sm", sm.json()}};
      check_condition(sm.with(gpus));
      rule.when = Json{{"all", {gpus, for_all, condition_in(engine.take("when"))}}};
      rule.declines = declines_in(engine.take("declines"));
      rule.declines.insert(rule.declines.end(), family_declines.begin(), family_declines.end());
      rule.examples = take_examples(engine);
      engine.finish();
      rules.push_back(std::move(rule));
    }
    family.finish();
  }
  whole.finish();
  return rules;
}

const std::vector<FrontendEngineRule>& frontend_engine_rules() {
  return engines_by_version().back().second;
}

std::vector<FrontendEngine> frontend_engines(const Json& problem, std::string_view version) {
  std::vector<FrontendEngine> engines;
  for (auto read = engines_by_version().rbegin(); read != engines_by_version().rend(); ++read) {
    if (!version.empty() && !is_of_version(read->first, version) && !is_of_version(version, read->first)) continue;
    for (const FrontendEngineRule& rule : read->second)
      if (serves(rule, problem)) engines.push_back(rule.entry);
    break;
  }
  return engines;
}

std::vector<FrontendEngine> frontend_engines(const attention::AttentionSpec& spec, CudnnVersion cudnn_version, int sm,
                                             std::string_view version) {
  return frontend_engines(describe_problem(spec, cudnn_version, sm), version);
}

std::string text_of(const FrontendEngine& engine) {
  std::string text = fmt::format("{} ({}", engine.what, engine.id);
  text += engine.by_default ? "; enabled by default" : fmt::format("; with {}", engine.switch_on);
  if (!engine.provided.empty()) text += fmt::format("; provided that {}", engine.provided);
  return text + ")";
}

}  // namespace attnprobe::rules
