#include "attnprobe.hpp"

#include "ask/ask.hpp"
#include "ask/named_targets.hpp"
#include "worker/client.hpp"

namespace attnprobe {
namespace {

Answer answer_of(const answer::Answer& result) {
  Answer answer;
  answer.config = result.config.spec.name;
  answer.target = result.target.id;
  if (result.cudnn_version.is_known()) answer.cudnn = result.cudnn_version.text();
  answer.usable = result.usable;
  answer.but = result.but;
  answer.verdict = result.verdict;
  answer.environment_broken = result.environment_broken;
  answer.met = met_expectation(result);
  answer.root_cause = result.root_cause;
  answer.modes = result.findings.modes;
  answer.engine_configs = result.findings.engine_configs;
  for (const auto& bug : result.warnings) answer.warnings.push_back(bug.what + " " + bug.advice);
  answer.by_rule = result.by_rule;
  if (result.from) answer.from = text_of(*result.from);
  for (const auto& way : result.ways_out) answer.ways_out.push_back(text_of(way));
  answer.reproduce = result.reproduce;
  return answer;
}

}  // namespace

std::vector<gpu::Target> find_targets(const std::string& words, const Options& options) {
  return asking::named_targets(words, options.timeout_seconds, options.program);
}

std::vector<Answer> ask(const std::vector<attention::AttentionConfig>& configs, const std::vector<gpu::Target>& targets,
                        const Options& options) {
  asking::Plan plan{{{asking::questions_of(configs), targets}}, options.cudnn};
  plan.options.walk = options.walk;
  plan.options.run = options.run;
  plan.options.timeout_seconds = options.timeout_seconds;
  plan.options.jobs = options.jobs;
  if (!options.frameworks.empty())
    plan.options.frameworks = rules::choose_gates({options.frameworks}, "Options::frameworks");
  const asking::Session session{.stop = options.stop, .program = worker::worker_program(options.program)};
  asking::OnAnswer on_answer;
  if (options.on_answer)
    on_answer = [&](const answer::Answer& result, size_t) { options.on_answer(answer_of(result)); };
  std::vector<Answer> answers;
  for (const auto& group : asking::ask(plan, session, on_answer))
    for (const auto& result : group.results) answers.push_back(answer_of(result));
  return answers;
}

}  // namespace attnprobe
