#include "site/answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/version.hpp"
#include "site/addresses.hpp"

namespace attnprobe::site {
namespace {

template <class T>
std::vector<size_t> sorted_places(size_t count, const T& key) {
  std::vector<size_t> places(count);
  std::iota(places.begin(), places.end(), size_t{0});
  std::sort(places.begin(), places.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
  return places;
}

}  // namespace

std::string short_version(const std::string& version) {
  const auto parsed = CudnnVersion::parse(version);
  return parsed ? parsed->short_text() : version;
}

Axes axes_of(const report::MatrixAxes& matrix, const std::string& title) {
  Axes axes;
  axes.title = !title.empty() ? title : !matrix.title.empty() ? matrix.title : "cuDNN attention support";
  for (const auto& name : matrix.configs) axes.configs.push_back({name, config_address(name)});
  axes.summaries.resize(axes.configs.size());
  // A family is sorted by its oldest GPU.
  std::map<std::string, int> oldest;
  for (const auto& target : matrix.targets) {
    const auto [known, is_new] = oldest.try_emplace(target.architecture, target.sm);
    if (!is_new) known->second = std::min(known->second, target.sm);
  }
  axes.target_places = sorted_places(matrix.targets.size(), [&](size_t t) {
    const auto& target = matrix.targets[t];
    return std::tuple(oldest.at(target.architecture), target.architecture, target.sm, t);
  });
  for (const size_t t : axes.target_places) {
    axes.targets.push_back({matrix.targets[t].id, address_of(matrix.targets[t].id)});
    axes.target_facts.push_back(matrix.targets[t]);
  }
  axes.cudnn_places = sorted_places(matrix.cudnns.size(), [&](size_t v) {
    const std::string& version = matrix.cudnns[v];
    return std::tuple(is_version(version) ? version_numbers(version) : std::vector<int>(), version);
  });
  for (const size_t v : axes.cudnn_places) axes.cudnns.push_back({matrix.cudnns[v], address_of(matrix.cudnns[v])});
  return axes;
}

Answers::Answers(size_t configs, size_t targets, size_t cudnns)
    : configs_(configs),
      targets_(targets),
      cudnns_(cudnns),
      words_(configs * targets * cudnns, Word::not_asked),
      reasons_(words_.size(), 0) {}

void Answers::set(size_t config, size_t target, size_t cudnn, Word word, const std::string& why) {
  words_[place(config, target, cudnn)] = word;
  if (why.empty()) return;
  const auto [known, is_new] = known_.try_emplace(why, static_cast<uint32_t>(whys_.size()));
  if (is_new) whys_.push_back(why);
  reasons_[place(config, target, cudnn)] = known->second;
}

std::vector<Run> Answers::runs(size_t config, size_t target) const {
  std::vector<Run> runs;
  for (size_t v = 0; v < cudnns_; ++v) {
    const Word now = word(config, target, v);
    if (runs.empty() || runs.back().word != now)
      runs.push_back({v, v, now});
    else
      runs.back().last = v;
  }
  return runs;
}

// A version that was not asked belongs to a run if both its neighbours are equal.
Run Answers::newest(size_t config, size_t target) const {
  Run found;
  for (size_t v = cudnns_; v-- > 0;) {
    const Word now = word(config, target, v);
    if (now == Word::not_asked) continue;
    if (found.word == Word::not_asked) found = {v, v, now};
    if (now != found.word) break;
    found.first = v;
  }
  return found;
}

std::vector<Change> Answers::changes(size_t cudnn) const {
  std::vector<Change> changes;
  if (cudnn == 0) return changes;
  for (size_t c = 0; c < configs_; ++c)
    for (size_t t = 0; t < targets_; ++t) {
      const Word before = word(c, t, cudnn - 1), after = word(c, t, cudnn);
      if (before == Word::not_asked || after == Word::not_asked || before == after) continue;
      const size_t worse = after > before ? cudnn : cudnn - 1;
      changes.push_back({c, t, before, after, reasons_[place(c, t, worse)]});
    }
  return changes;
}

std::map<Word, size_t> Answers::counts(size_t target, size_t cudnn) const {
  std::map<Word, size_t> counts;
  for (size_t c = 0; c < configs_; ++c) ++counts[word(c, target, cudnn)];
  return counts;
}

std::string since_text(const Run& run, const Axes& axes, size_t oldest_asked) {
  if (run.word == Word::not_asked) return "";
  if (!is_taken(run.word)) return "up to " + short_version(axes.cudnns[run.last].name);
  return fmt::format("since {}{}", short_version(axes.cudnns[run.first].name),
                     run.first <= oldest_asked ? " or earlier" : "");
}

}  // namespace attnprobe::site
