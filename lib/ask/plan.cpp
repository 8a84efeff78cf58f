#include "ask/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/error.hpp"
#include "base/limits.hpp"

namespace attnprobe::asking {

size_t jobs_of(const PlanOptions& options) {
  if (options.jobs > 0) return std::min<size_t>(static_cast<size_t>(options.jobs), most_jobs());
  return std::max(1U, std::thread::hardware_concurrency());
}

std::vector<std::string> checked_modes(std::vector<std::string> words, const std::string& place) {
  const std::vector<std::string> known = probe::WalkOptions().modes;
  for (const auto& word : words)
    if (std::ranges::find(known, word) == known.end())
      throw Error(ErrorKind::usage,
                  fmt::format("{}: \"{}\" is not a heuristic mode; allowed: {}", place, word, fmt::join(known, ", ")));
  return words;
}

std::vector<Question> questions_of(const std::vector<attention::AttentionConfig>& configs) {
  std::vector<Question> questions;
  questions.reserve(configs.size());
  for (const auto& config : configs) questions.push_back({config, {}});
  return questions;
}

std::vector<CellPlace> places_of(const QuestionGroup& group) {
  std::vector<CellPlace> places;
  places.reserve(group.cudnns.size() * group.targets.size() * group.questions.size());
  for (size_t v = 0; v < group.cudnns.size(); ++v)
    for (size_t t = 0; t < group.targets.size(); ++t)
      for (size_t c = 0; c < group.questions.size(); ++c) places.push_back({c, t, v});
  return places;
}

std::vector<CellPlace> shard_of(const std::vector<CellPlace>& places, size_t index, size_t count) {
  auto bound = [&](size_t i) { return places.begin() + static_cast<std::ptrdiff_t>(places.size() * i / count); };
  return {bound(index - 1), bound(index)};
}

size_t cells_of(const std::vector<QuestionGroup>& groups) {
  size_t count = 0;
  for (const auto& group : groups)
    count += group.cells ? group.cells->size()
                         : group.questions.size() * group.targets.size() * std::max<size_t>(1, group.cudnns.size());
  return count;
}

}  // namespace attnprobe::asking
