#include "campaign/concerning_bugs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::campaign {

using rules::KnownBugRule;

namespace {

CudnnVersion version_of_word(const std::string& word, const std::string& place) {
  // A framework names what it pins with four numbers, or as what it needs at least: ">=9.12.0.46".
  std::string text = word.substr(std::min(word.find_first_of("0123456789"), word.size()));
  const auto parts = split(text, '.');
  if (parts.size() > 3) text = fmt::format("{}.{}.{}", parts[0], parts[1], parts[2]);
  if (const auto version = CudnnVersion::parse(text)) return *version;
  throw Error(ErrorKind::usage, fmt::format("{} {}: not a version of cuDNN; allowed: 9.19, 9.19.0", place, word));
}

// The versions that somebody would use; empty: any.
std::vector<CudnnVersion> versions_of(const BugWords& words) {
  std::vector<CudnnVersion> versions;
  for (const auto& word : words.cudnns) versions.push_back(version_of_word(word, words.cudnn_place));
  for (const auto& chosen : rules::choose_gates(words.frameworks, words.framework_place)) {
    if (chosen.release == nullptr || chosen.release->cudnn.empty())
      throw Error(ErrorKind::usage, fmt::format("{} {}: which cuDNN it brings is not known; name it as cudnn",
                                                words.framework_place, rules::words_of({chosen})));
    versions.push_back(version_of_word(chosen.release->cudnn, words.framework_place));
  }
  return versions;
}

}  // namespace

std::vector<const KnownBugRule*> named_bugs(const std::vector<std::string>& ids) {
  std::vector<const KnownBugRule*> bugs;
  std::vector<std::string> known;
  for (const auto& bug : rules::known_bug_rules()) {
    known.push_back(bug.entry.id);
    if (ids.empty() || std::find(ids.begin(), ids.end(), bug.entry.id) != ids.end()) bugs.push_back(&bug);
  }
  for (const auto& id : ids)
    if (std::find(known.begin(), known.end(), id) == known.end())
      throw Error(ErrorKind::usage, fmt::format("\"{}\" is not the name of a known bug{}; `attnprobe bugs` lists them",
                                                id, did_you_mean(id, known)));
  return bugs;
}

std::vector<const KnownBugRule*> bugs_concerning(const BugWords& words) {
  const auto versions = versions_of(words);
  std::vector<const KnownBugRule*> concerning;
  for (const auto* bug : named_bugs(words.ids)) {
    const auto concerns_version = [&](std::optional<int> sm) {
      if (versions.empty()) return rules::may_apply(bug->when, std::nullopt, sm);
      return std::any_of(versions.begin(), versions.end(),
                         [&](CudnnVersion version) { return rules::may_apply(bug->when, version, sm); });
    };
    const bool concerns = words.targets.empty()
                              ? concerns_version(std::nullopt)
                              : std::any_of(words.targets.begin(), words.targets.end(),
                                            [&](const gpu::Target& target) { return concerns_version(target.sm); });
    if (concerns) concerning.push_back(bug);
  }
  return concerning;
}

}  // namespace attnprobe::campaign
