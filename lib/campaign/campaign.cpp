#include "campaign/campaign.hpp"

#include <fmt/format.h>

#include <mutex>

#include "campaign/matrix.hpp"

namespace attnprobe::campaign {
namespace {

// Which other targets of this very run support what was asked: advice that needs no further probing.
void name_supporting_targets(std::vector<Answer>& results, size_t target_count) {
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

Answers run_campaign(const std::vector<Question>& questions, const std::vector<gpu::Target>& targets,
                     const std::string& cudnn, const PlanOptions& options, const Session& session,
                     const OnResult& on_result) {
  Matrix matrix{questions, targets, {cudnn::LibraryInfo()}};
  matrix.cudnns.front().path = cudnn;
  Answers campaign;
  campaign.results.resize(questions.size() * targets.size());
  std::vector<char> is_finished(campaign.results.size());
  std::mutex mutex;
  size_t done = 0;
  const auto keep = [&](const CellPlace& place, Answer&& result) {
    const size_t index = place.config * targets.size() + place.target;
    const std::lock_guard lock(mutex);
    is_finished[index] = 1;
    campaign.results[index] = std::move(result);
    ++done;
    if (on_result) on_result(campaign.results[index], index, done);
  };
  campaign.library = run_matrix(matrix, places_of(matrix), options, session, keep).front();
  if (!targets.empty()) name_supporting_targets(campaign.results, targets.size());
  if (done == campaign.results.size()) return campaign;
  std::vector<Answer> whole;
  for (size_t i = 0; i < is_finished.size(); ++i)
    if (is_finished[i] != 0) whole.push_back(std::move(campaign.results[i]));
  campaign.results = std::move(whole);
  return campaign;
}

}  // namespace attnprobe::campaign
