#include "attnprobe.hpp"

#include "campaign/inquiry.hpp"
#include "campaign/named_targets.hpp"
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
  return campaign::named_targets(words, options.timeout_seconds, options.program);
}

std::vector<Answer> ask(const std::vector<attention::AttentionConfig>& configs, const std::vector<gpu::Target>& targets,
                        const Options& options) {
  campaign::CampaignOptions campaign;
  campaign.walk = options.walk;
  campaign.run = options.run;
  campaign.timeout_seconds = options.timeout_seconds;
  campaign.jobs = options.jobs;
  campaign.stop = options.stop;
  if (!options.frameworks.empty())
    campaign.frameworks = rules::choose_gates({options.frameworks}, "Options::frameworks");
  campaign.program = worker::worker_program(options.program);
  campaign::InquiryOptions inquiry{options.cudnn, campaign, nullptr, {}, {}};
  if (options.on_answer)
    inquiry.on_result = [&](const answer::Answer& result, size_t) { options.on_answer(answer_of(result)); };
  std::vector<Answer> answers;
  for (const auto& group : campaign::inquire({{campaign::questions_of(configs), targets}}, inquiry))
    for (const auto& result : group.results) answers.push_back(answer_of(result));
  return answers;
}

}  // namespace attnprobe
