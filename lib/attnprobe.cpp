#include "attnprobe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ask/ask.hpp"
#include "ask/named_targets.hpp"
#include "base/text.hpp"
#include "report/formats/report.hpp"
#include "report/formats/screen_text.hpp"
#include "worker/client.hpp"

namespace attnprobe {
namespace {

EngineConfig engine_config_of(const probe::EngineConfigFindings& config, const probe::WalkFindings& findings) {
  EngineConfig told{config.engine, config.knobs, config.modes, works(config, findings), {}, config.workspace_bytes};
  if (!config.reasons.empty())
    told.reason = config.reasons.front().reason;
  else if (config.plan && !config.plan->reasons.empty())
    told.reason = config.plan->reasons.front().reason;
  return told;
}

Answer answer_of(const answer::Answer& result) {
  Answer answer;
  answer.config = result.config.spec.name;
  answer.target = result.target.id;
  if (result.cudnn_version.is_known()) answer.cudnn = result.cudnn_version.text();
  answer.usable = result.usable;
  answer.account = report::account_text(result);
  for (const auto& obstacle : result.but) answer.but.push_back({obstacle.kind, obstacle.text, obstacle.source});
  answer.verdict = result.verdict;
  answer.environment_broken = result.environment_broken;
  answer.met = met_expectation(result);
  answer.by_rule = result.by_rule;
  if (const auto& cause = result.root_cause)
    answer.root_cause = {cause->category, cause->status, cause->reason, cause->explanation, cause->advice};
  for (const auto& config : result.findings.engine_configs)
    answer.engine_configs.push_back(engine_config_of(config, result.findings));
  for (const auto& bug : result.warnings) answer.warnings.push_back(bug.what + " " + bug.advice);
  for (const auto& way : result.ways_out) answer.ways_out.push_back(text_of(way));
  if (result.from) answer.from = text_of(*result.from);
  answer.reproduce = result.reproduce;
  answer.record = json_text(report::to_json(result));
  return answer;
}

asking::Plan plan_of(std::string_view configs, const std::vector<std::string>& targets, const Options& options) {
  const double timeout = std::chrono::duration<double>(options.timeout).count();
  asking::QuestionGroup group{
      asking::questions_of(attention::parse_configs(configs, "configs")),
      asking::named_targets(fmt::format("{}", fmt::join(targets, ",")), timeout, options.program)};
  asking::Plan plan{{std::move(group)}, options.cudnn};
  probe::WalkOptions& walk = plan.options.walk;
  if (!options.modes.empty()) walk.modes = asking::checked_modes(options.modes, "Options::modes");
  walk.engines = options.engines;
  walk.plans = options.plans;
  walk.sweep_where_none = !options.quick;
  plan.options.timeout_seconds = timeout;
  plan.options.jobs = options.jobs;
  plan.options.frameworks = rules::choose_gates(options.frameworks, "Options::frameworks");
  return plan;
}

}  // namespace

std::vector<Answer> ask(std::string_view configs, const std::vector<std::string>& targets, const Options& options) {
  const asking::Plan plan = plan_of(configs, targets, options);
  std::atomic<bool> is_stopped = false;
  const std::stop_callback stopping(options.stop, [&] { is_stopped = true; });
  const asking::Session session{.stop = &is_stopped, .program = worker::worker_program(options.program)};
  asking::OnAnswer on_answer;
  if (options.on_answer)
    on_answer = [&](const answer::Answer& result, size_t) { options.on_answer(answer_of(result)); };
  std::vector<Answer> answers;
  for (const auto& group : asking::ask(plan, session, on_answer))
    for (const auto& result : group.results) answers.push_back(answer_of(result));
  return answers;
}

std::string_view name_of(Usable usable) {
  return name_of<>(usable);
}

std::string_view name_of(Verdict verdict) {
  return name_of<>(verdict);
}

std::string_view name_of(ObstacleKind kind) {
  return name_of<>(kind);
}

std::string_view name_of(Category category) {
  return name_of<>(category);
}

}  // namespace attnprobe
