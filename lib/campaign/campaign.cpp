#include "campaign/campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "campaign/target_run.hpp"

namespace attnprobe::campaign {
namespace {

// Which other targets of this very run support what was asked: advice that needs no further probing.
void name_supporting_targets(std::vector<Result>& results, size_t target_count) {
  for (size_t begin = 0; begin < results.size(); begin += target_count) {
    std::string supporting;
    for (size_t i = begin; i < begin + target_count; ++i)
      if (results[i].verdict == Verdict::supported)
        supporting += (supporting.empty() ? "" : ", ") + results[i].target.id;
    if (supporting.empty()) continue;
    for (size_t i = begin; i < begin + target_count; ++i)
      if (results[i].verdict == Verdict::unsupported)
        results[i].root_cause->advice.push_back(
            fmt::format("the same {} is supported on {}", results[i].given ? "graph" : "config", supporting));
  }
}

}  // namespace

std::vector<Question> questions_of(const std::vector<attention::AttentionConfig>& configs) {
  std::vector<Question> questions;
  questions.reserve(configs.size());
  for (const auto& config : configs) questions.push_back({config, {}});
  return questions;
}

CampaignResult run_campaign(const std::vector<Question>& questions, const std::vector<gpu::Target>& targets,
                            const CampaignOptions& options, const OnResult& on_result) {
  CampaignResult campaign;
  campaign.results.resize(questions.size() * targets.size());
  std::mutex mutex;
  size_t done = 0;
  std::vector<char> finished(campaign.results.size());
  auto stopped = [&] { return options.stop != nullptr && *options.stop; };
  std::atomic<size_t> next_target{0};
  auto work = [&] {
    for (size_t t; (t = next_target++) < targets.size();) {
      TargetRun run(targets[t], options);
      for (size_t c = 0; c < questions.size(); ++c) {
        if (stopped()) return;
        Result result = run.run(questions[c]);
        add_version_rules(result);
        const std::lock_guard lock(mutex);
        // A worker that the same Ctrl-C ended says nothing about cuDNN, and among plans some were left out.
        if (stopped() && (result.crash || result.findings.plans_run)) return;
        finished[c * targets.size() + t] = 1;
        Result& place = campaign.results[c * targets.size() + t];
        place = std::move(result);
        on_result(place, c * targets.size() + t, ++done);
      }
      const std::lock_guard lock(mutex);
      if (!campaign.library) campaign.library = run.library();
    }
  };
  const size_t jobs = std::min(jobs_of(options), targets.size());
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < jobs; ++i) threads.emplace_back(work);
  threads.clear();  // joins
  if (!targets.empty()) name_supporting_targets(campaign.results, targets.size());
  if (stopped()) {
    std::vector<Result> whole;
    for (size_t i = 0; i < finished.size(); ++i)
      if (finished[i] != 0) whole.push_back(std::move(campaign.results[i]));
    campaign.results = std::move(whole);
  }
  return campaign;
}

std::vector<gpu::Target> device_targets(const gpu::DriverInfo& driver) {
  std::vector<gpu::Target> targets;
  for (const auto& gpu : driver.gpus) {
    gpu::Target t;
    t.id = fmt::format("device:{}", gpu.index);
    t.name = gpu.name;
    t.sm = gpu.sm;
    t.kind = gpu::Kind::device;
    t.device = gpu.index;
    t.uuid = gpu.uuid;
    targets.push_back(std::move(t));
  }
  return targets;
}

}  // namespace attnprobe::campaign
