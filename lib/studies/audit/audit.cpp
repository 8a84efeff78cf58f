#include "studies/audit/audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "ask/ask.hpp"
#include "ask/reproduce.hpp"
#include "attention/fields.hpp"
#include "attention/flop.hpp"
#include "base/add_once.hpp"
#include "probe/walk_difference.hpp"

namespace attnprobe::studies {
namespace {

// The properties that all cells of a row share.
std::string key_of(const AuditRow& row) {
  return fmt::format("{}|{}|{}|{}", row.framework, static_cast<int>(row.kind), row.rule,
                     row.rule.empty() ? row.what : "");
}

const rules::FrameworkRule* rule_of(const std::string& framework, const std::string& id) {
  for (const auto& gate : rules::framework_gates())
    if (gate.framework == framework)
      for (const auto& rule : gate.rules)
        if (rule.id == id) return &rule;
  return nullptr;
}

// The obstacle after the gate, from the answer.
const answer::Obstacle* obstacle(const answer::Answer& result, answer::ObstacleKind kind) {
  for (const auto& found : result.but)
    if (found.kind == kind) return &found;
  return nullptr;
}

bool only_frameworks_object(const answer::Answer& result) {
  return result.verdict == answer::Verdict::supported &&
         std::all_of(result.but.begin(), result.but.end(),
                     [](const auto& found) { return found.kind == answer::ObstacleKind::framework; });
}

}  // namespace

Audit::Audit(const std::vector<gpu::Target>& targets) {
  for (const auto& target : targets) target_order_.emplace(target.id, target_order_.size());
}

void Audit::add(const answer::Answer& result, size_t index) {
  if (!result.cudnn_version.is_known() || result.environment_broken) {
    ++unanswered_;
    return;
  }
  ++cells_;
  for (const auto& answer : result.frameworks) {
    AuditRow row;
    row.framework = answer.framework;
    row.title = answer.title;
    if (answer.takes == rules::Takes::refused) {
      // If two rules refuse, neither is the only cause.
      if (answer.refusals.size() != 1) continue;
      const auto& refusal = answer.refusals.front();
      row.kind = AuditKind::refuses_what_works;
      row.rule = refusal.id;
      const bool works = only_frameworks_object(result);
      if (const auto* rule = rule_of(row.framework, row.rule)) values_[key_of(row)].add(*rule, result, works);
      if (!works) continue;
      row.what = refusal.what;
      row.change = refusal.change;
      row.source = refusal.source.text;
    } else if (answer.takes == rules::Takes::yes || answer.takes == rules::Takes::by_name) {
      const answer::Obstacle* frontend = obstacle(result, answer::ObstacleKind::frontend);
      const answer::Obstacle* bug = obstacle(result, answer::ObstacleKind::known_bug);
      if (frontend != nullptr) {
        row.kind = AuditKind::lets_through;
        row.what = frontend->text;
        row.source = frontend->source;
      } else if (result.verdict == answer::Verdict::unsupported) {
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
    add_row(row, result, index);
  }
}

void Audit::add_row(const AuditRow& row, const answer::Answer& result, size_t index) {
  const auto [place, is_new] = places_.try_emplace(key_of(row), rows_.size());
  if (is_new) rows_.push_back(row);
  AuditRow& found = rows_[place->second];
  ++found.cells;
  add_once(found.targets, result.target.id);
  add_once(found.cudnns, result.cudnn_version.text());
  // Among cells of the same size, the first one asked, regardless of which worker finished first.
  const std::pair size{attention::attention_flop(result.config.spec), index};
  if (!is_new && size >= found.size) return;
  found.size = size;
  found.what = row.what;
  found.question = static_cast<const answer::Question&>(result);
  found.target = result.target;
  found.cudnn = result.cudnn_version.text();
  found.cudnn_path = result.cudnn_path;
  found.reproduce = result.reproduce;
  const auto first = std::find_if(result.findings.engine_configs.begin(), result.findings.engine_configs.end(),
                                  [](const auto& config) { return config.check.supported; });
  found.engine = first == result.findings.engine_configs.end() ? "" : probe::config_name(first->engine, first->knobs);
}

void Audit::add_values(AuditRow& row) const {
  const auto values = values_.find(key_of(row));
  const auto* rule = rule_of(row.framework, row.rule);
  if (values == values_.end() || rule == nullptr) return;
  row.taken_values = values->second.taken();
  row.proposals = values->second.proposals(*rule);
}

void Audit::prove(const asking::PlanOptions& options, const asking::Session& session) {
  for (AuditRow& row : rows_) {
    add_values(row);
    std::sort(row.targets.begin(), row.targets.end(),
              [&](const auto& a, const auto& b) { return target_order_.at(a) < target_order_.at(b); });
    asking::PlanOptions alone = options;
    std::erase_if(alone.frameworks, [&](const auto& chosen) { return chosen.gate->framework != row.framework; });
    const bool compiles = row.kind == AuditKind::refuses_what_works;
    if (compiles) alone.walk.plans = probe::Plans::first;
    if (auto command = asking::parts_of_command(row.reproduce)) {
      command->question = asking::question_command(row.question, alone);
      row.reproduce = asking::joined_command(*command);
    }
    if (!compiles || session.is_stopped()) continue;
    alone.walk.sweep_where_none = true;  // other versions are asked only for such answers
    const auto answers = asking::ask({.groups = {{{row.question}, {row.target}, {row.cudnn_path}}},
                                      .options = alone,
                                      .further = asking::Further::other_versions,
                                      .suggest = asking::SuggestOptions{.most = 0, .two_at_a_time = false},
                                      .cached = true},
                                     session)
                             .front()
                             .results;
    row.compiled = !answers.empty() && only_frameworks_object(answers.front());
    if (row.compiled && answers.front().from) row.since = text_of(*answers.front().from);
  }
  const auto fails = [](const AuditRow& row) { return row.kind == AuditKind::refuses_what_works && !row.compiled; };
  dropped_ += std::count_if(rows_.begin(), rows_.end(), fails);
  std::erase_if(rows_, fails);
  std::stable_sort(rows_.begin(), rows_.end(), [](const auto& a, const auto& b) {
    return std::tie(a.framework, a.kind, a.size) < std::tie(b.framework, b.kind, b.size);
  });
}

Json to_json(const AuditRow& row) {
  Json proposals = Json::array();
  for (const auto& proposal : row.proposals) proposals.push_back(to_json(proposal));
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
          {"proposed_rule", std::move(proposals)},
          {"since", row.since},
          {"smallest",
           {{"config", attention::to_json(row.question.config.spec)},
            {"target", row.target.id},
            {"cudnn", row.cudnn},
            {"engine", row.engine},
            {"compiled", row.compiled},
            {"reproduce", row.reproduce}}}};
}

}  // namespace attnprobe::studies
