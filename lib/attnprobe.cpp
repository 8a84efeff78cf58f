#include "attnprobe.hpp"

#include "campaign/campaign.hpp"
#include "campaign/named_targets.hpp"
#include "worker/client.hpp"

namespace attnprobe {
namespace {

Answer answer_of(const campaign::Result& result) {
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
  campaign.cudnn = cudnn::choose_library(options.cudnn).path;
  campaign.walk = options.walk;
  campaign.run = options.run;
  campaign.timeout_seconds = options.timeout_seconds;
  campaign.jobs = options.jobs;
  campaign.stop = options.stop;
  if (!options.frameworks.empty())
    campaign.frameworks = rules::choose_gates({options.frameworks}, "Options::frameworks");
  campaign.program = worker::worker_program(options.program);
  campaign::OnResult on_result;
  if (options.on_answer)
    on_result = [&](const campaign::Result& result, size_t, size_t) { options.on_answer(answer_of(result)); };
  std::vector<Answer> answers;
  auto questions = campaign::questions_of(configs);
  adopt_frontend(questions, campaign.frameworks);
  for (const auto& result : campaign::run_campaign(questions, targets, campaign, on_result).results)
    answers.push_back(answer_of(result));
  return answers;
}

}  // namespace attnprobe
