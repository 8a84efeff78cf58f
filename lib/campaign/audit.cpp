#include "campaign/audit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "attention/fields.hpp"
#include "attention/flop.hpp"
#include "campaign/reproduce.hpp"
#include "probe/walk_difference.hpp"

namespace attnprobe::campaign {
namespace {

// What is the same for all cells of a row.
std::string key_of(const AuditRow& row) {
  return fmt::format("{}|{}|{}|{}", row.framework, static_cast<int>(row.kind), row.rule,
                     row.rule.empty() ? row.what : "");
}

void add_once(std::vector<std::string>& words, const std::string& word) {
  if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
}

// The keys that a condition compares with numbers by size.
void add_compared_keys(const Json& condition, std::set<std::string>& keys) {
  for (const auto& [key, value] : condition.items()) {
    if (value.is_array())
      for (const auto& part : value) add_compared_keys(part, keys);
    else if (key == "not" || key == "all" || key == "any")
      add_compared_keys(value, keys);
    else if (value.is_object() && std::any_of(value.items().begin(), value.items().end(), [](const auto& operand) {
               return (operand.key() == "above" || operand.key() == "below" || operand.key() == "min" ||
                       operand.key() == "max") &&
                      operand.value().is_number();
             }))
      keys.insert(key);
  }
}

const rules::GateRule* rule_of(const std::string& framework, const std::string& id) {
  for (const auto& gate : rules::framework_gates())
    if (gate.framework == framework)
      for (const auto& rule : gate.rules)
        if (rule.id == id) return &rule;
  return nullptr;
}

// Who stands in the way behind the gate, of what the answer weighs.
const Obstacle* obstacle(const Result& result, ObstacleKind kind) {
  for (const auto& found : result.but)
    if (found.kind == kind) return &found;
  return nullptr;
}

bool only_frameworks_object(const Result& result) {
  return result.verdict == Verdict::supported &&
         std::all_of(result.but.begin(), result.but.end(),
                     [](const auto& found) { return found.kind == ObstacleKind::framework; });
}

std::vector<std::string> texts_of(
    const std::map<std::pair<std::string, std::string>, std::map<std::string, std::pair<double, double>>>& ranges) {
  std::vector<std::string> texts;
  for (const auto& [what, by_target] : ranges) {
    std::map<std::pair<double, double>, std::vector<std::string>> targets;  // GPUs with the same values together
    for (const auto& [target, range] : by_target) targets[range].push_back(target);
    for (const auto& [range, ids] : targets)
      texts.push_back(fmt::format("{} {}{} {} on {}", what.first, range.first,
                                  range.first == range.second ? "" : fmt::format(" to {}", range.second), what.second,
                                  fmt::join(ids, ", ")));
  }
  return texts;
}

}  // namespace

void Audit::add(const Result& result) {
  if (!result.cudnn_version.is_known() || result.environment_broken) return;
  ++cells_;
  for (const auto& answer : result.frameworks) {
    AuditRow row;
    row.framework = answer.framework;
    row.title = answer.title;
    if (answer.takes == rules::Takes::refused) {
      // Where two rules refuse, neither is the one that costs something.
      if (answer.refusals.size() != 1 || !only_frameworks_object(result)) continue;
      const auto& refusal = answer.refusals.front();
      row.kind = AuditKind::refuses_what_works;
      row.rule = refusal.id;
      row.what = refusal.what;
      row.change = refusal.change;
      row.source = refusal.source.text;
    } else if (answer.takes == rules::Takes::yes || answer.takes == rules::Takes::by_name) {
      const Obstacle* frontend = obstacle(result, ObstacleKind::frontend);
      const Obstacle* bug = obstacle(result, ObstacleKind::known_bug);
      if (frontend != nullptr) {
        row.kind = AuditKind::lets_through;
        row.what = frontend->text;
        row.source = frontend->source;
      } else if (result.verdict == Verdict::unsupported) {
        row.kind = AuditKind::lets_through;
        row.what = fmt::format("cuDNN refuses: {}", result.root_cause ? result.root_cause->explanation : "");
        row.source = result.root_cause ? result.root_cause->reason : "";
      } else if (bug != nullptr) {
        row.kind = AuditKind::lets_through_a_bug;
        row.what = bug->text;
        row.source = bug->source;
      } else {
        continue;
      }
    } else {
      continue;
    }
    add_row(row, result);
  }
}

void Audit::add_row(const AuditRow& row, const Result& result) {
  const auto [place, is_new] = places_.try_emplace(key_of(row), rows_.size());
  if (is_new) {
    rows_.push_back(row);
    rows_.back().flop = -1;
    ranges_.emplace_back();
  }
  AuditRow* const found = &rows_[place->second];
  ++found->cells;
  add_once(found->targets, result.target.id);
  add_once(found->cudnns, result.cudnn_version.text());
  const double flop = attention::attention_flop(result.config.spec);
  if (found->flop < 0 || flop < found->flop) {
    found->flop = flop;
    found->what = row.what;
    found->question = static_cast<const Question&>(result);
    found->target = result.target;
    found->cudnn = result.cudnn_version.text();
    found->cudnn_path = result.cudnn_path;
    found->reproduce = result.reproduce;
    const auto first = std::find_if(result.findings.engine_configs.begin(), result.findings.engine_configs.end(),
                                    [](const auto& config) { return config.check.supported; });
    found->engine =
        first == result.findings.engine_configs.end() ? "" : probe::config_name(first->engine, first->knobs);
  }
  const rules::GateRule* rule = rule_of(row.framework, row.rule);
  if (rule == nullptr) return;
  Ranges& ranges = ranges_[place->second];
  std::set<std::string> keys;
  add_compared_keys(rule->when, keys);
  const Json problem = rules::describe_problem(result.config.spec, result.cudnn_version, result.target.sm);
  const std::string direction = is_bprop(result.config.spec) ? "backward" : "forward";
  for (const auto& name : keys) {
    if (name == "cudnn" || name == "sm" || !problem.contains(name) || !problem[name].is_number()) continue;
    const double value = problem[name].get<double>();
    const auto [range, is_first] = ranges[{name, direction}].try_emplace(result.target.id, Range{value, value});
    if (is_first) continue;
    range->second.first = std::min(range->second.first, value);
    range->second.second = std::max(range->second.second, value);
  }
}

void Audit::prove(const CampaignOptions& options) {
  for (size_t i = 0; i < rows_.size(); ++i) {
    AuditRow& row = rows_[i];
    row.taken_values = texts_of(ranges_[i]);
    CampaignOptions alone = options;
    alone.cudnn = row.cudnn_path;
    std::erase_if(alone.frameworks, [&](const auto& chosen) { return chosen.gate->framework != row.framework; });
    const bool compiles = row.kind == AuditKind::refuses_what_works;
    if (compiles) alone.walk.plans = probe::Plans::first;
    if (auto command = parts_of_command(row.reproduce)) {
      command->question = question_command(row.question, alone);
      row.reproduce = joined_command(*command);
    }
    if (!compiles || (options.stop != nullptr && *options.stop)) continue;
    const auto answers = run_campaign({row.question}, {row.target}, alone);
    row.compiled = !answers.results.empty() && only_frameworks_object(answers.results.front());
  }
  const auto fails = [](const AuditRow& row) { return row.kind == AuditKind::refuses_what_works && !row.compiled; };
  dropped_ += std::count_if(rows_.begin(), rows_.end(), fails);
  std::erase_if(rows_, fails);
  std::stable_sort(rows_.begin(), rows_.end(), [](const auto& a, const auto& b) {
    return std::tie(a.framework, a.kind) < std::tie(b.framework, b.kind);
  });
}

Json to_json(const AuditRow& row) {
  return {{"kind", row.kind},
          {"framework", row.framework},
          {"title", row.title},
          {"rule", row.rule},
          {"what", row.what},
          {"change", row.change},
          {"source", row.source},
          {"targets", row.targets},
          {"cudnn", row.cudnns},
          {"cells", row.cells},
          {"taken_values", row.taken_values},
          {"smallest",
           {{"config", attention::to_json(row.question.config.spec)},
            {"target", row.target.id},
            {"cudnn", row.cudnn},
            {"engine", row.engine},
            {"compiled", row.compiled},
            {"reproduce", row.reproduce}}}};
}

}  // namespace attnprobe::campaign
