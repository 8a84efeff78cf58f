#include "replay/explanation.hpp"

#include <algorithm>

#include "answer/reasons.hpp"
#include "probe/walk_difference.hpp"
#include "rules/framework_rules.hpp"

namespace attnprobe::replay {
namespace {

// The decisive line of a rejected engine config, otherwise only its status.
probe::Reason decisive(const std::vector<probe::Reason>& traceback, const std::string& status) {
  const probe::Reason* reason = answer::decisive_reason(traceback);
  return reason != nullptr ? *reason : probe::Reason{status, ""};
}

ReasonGroup group_of(const probe::Reason& reason) {
  ReasonGroup group;
  group.status = reason.status;
  group.reason = reason.reason;
  if (const answer::KnownReason* known = answer::find_reason(reason)) {
    group.is_known = true;
    group.category = known->category;
    group.meaning = known->meaning;
    group.help = known->help;
    group.progress = known->progress;
  } else {
    group.category = answer::category_of_status(reason.status);
  }
  return group;
}

void add(std::vector<ReasonGroup>& groups, const probe::Reason& reason, const std::string& engine) {
  for (auto& group : groups)
    if (group.status == reason.status && group.reason == reason.reason) {
      group.engines.push_back(engine);
      return;
    }
  groups.push_back(group_of(reason));
  groups.back().engines.push_back(engine);
}

}  // namespace

std::optional<rules::FrontendAnswer> frontend_refusal(std::string_view line) {
  const rules::FrameworkRule* longest = nullptr;
  for (const rules::FrameworkRule& rule : rules::frontend_rules().rules)
    if (line.find(rule.message) != std::string_view::npos &&
        (longest == nullptr || rule.message.size() > longest->message.size()))
      longest = &rule;
  if (longest == nullptr) return std::nullopt;
  return rules::answer_of(rules::frontend_rules(), *longest);
}

Explanation explain(const replay::LoggedGraph& logged, const recognise::Recognised& recognised) {
  Explanation explanation;
  explanation.works = logged.works();
  explanation.refused = logged.refused();
  for (const auto& config : logged.findings.engine_configs) {
    const std::string engine = probe::config_name(config.engine, config.knobs);
    if (!config.check.supported)
      add(explanation.reasons, decisive(config.reasons, config.check.status), engine);
    else if (config.plan && !probe::is_built(config))
      add(explanation.reasons, decisive(config.plan->reasons, config.plan->status), engine + " (its plan)");
    else
      explanation.viable.push_back(engine);
  }
  std::stable_sort(explanation.reasons.begin(), explanation.reasons.end(),
                   [](const auto& a, const auto& b) { return a.progress > b.progress; });
  if (recognised.exact && recognised.spec && logged.cudnn_version.is_known() && logged.sm != 0) {
    const auto& spec = *recognised.spec;
    if (explanation.refused) {
      explanation.cause = answer::root_cause(logged.findings, spec, logged.cudnn_version, logged.sm);
      explanation.requirements = rules::unmet_requirements(spec, logged.cudnn_version, logged.sm);
    }
    explanation.known_bugs = rules::known_bugs(spec, logged.cudnn_version, logged.sm);
    explanation.frontend = rules::frontend_answer(spec, logged.cudnn_version, logged.sm);
  } else if (explanation.refused) {
    explanation.cause = answer::root_cause(logged.findings);
  }
  return explanation;
}

}  // namespace attnprobe::replay
