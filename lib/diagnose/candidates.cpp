#include "diagnose/candidates.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "diagnose/readings.hpp"
#include "diagnose/search_options.hpp"
#include "diagnose/text_lines.hpp"

namespace attnprobe::diagnose {
namespace {

struct Candidate {
  std::string name;
  int64_t line = 0;
  std::vector<std::string> reasons;
  std::string hint;
};

bool is_for_good(const std::string& reason) {
  static const RE2 of_build_or_gpu(
      "wasn't built|was not built|not built|capability|too (?:old|new)|requires a GPU|unavailable|not available|only for",
      any_case());
  return has_words(reason, of_build_or_gpu);
}

// One that a caller can do something about is nearer than any that is not here, or not for this GPU.
int64_t distance_of(const Candidate& candidate) {
  constexpr int64_t out_of_reach = 100, other_kind = 10;
  int64_t distance = 0;
  for (const auto& reason : candidate.reasons)
    distance += is_for_good(reason) ? out_of_reach : reason.find("type is") != std::string::npos ? other_kind : 1;
  return distance;
}

std::vector<Candidate> candidates_in(std::string_view text) {
  static const RE2 head("^(\\S+) is not supported because:$", exact_case());
  std::vector<Candidate> candidates;
  bool is_open = false;
  for (const Line& line : lines_of(text)) {
    const std::string content(trim(line.text));
    std::string name;
    if (RE2::FullMatch(content, head, &name)) {
      candidates.push_back({name, line.number, {}, ""});
      is_open = true;
    } else if (is_open && content.starts_with("HINT: ")) {
      candidates.back().hint = content.substr(6);
    } else if (is_open && !content.empty()) {
      auto& reasons = candidates.back().reasons;
      if (std::find(reasons.begin(), reasons.end(), content) == reasons.end()) reasons.push_back(content);
    } else {
      is_open = false;
    }
  }
  std::erase_if(candidates, [](const Candidate& candidate) { return candidate.reasons.empty(); });
  return candidates;
}

}  // namespace

std::optional<Refusal> read_candidates(std::string_view text) {
  const std::vector<Candidate> candidates = candidates_in(text);
  if (candidates.empty()) return std::nullopt;
  const Candidate& nearest =
      *std::min_element(candidates.begin(), candidates.end(),
                        [](const Candidate& a, const Candidate& b) { return distance_of(a) < distance_of(b); });
  Refusal refusal;
  refusal.kind = SentenceKind::reading;
  refusal.id = "candidates";
  refusal.who = "xFormers";
  const bool all_for_good = std::all_of(nearest.reasons.begin(), nearest.reasons.end(), is_for_good);
  refusal.headline =
      all_for_good ? "xFormers has no kernel that is built for this GPU and could take the call"
                   : fmt::format("xFormers has no kernel for the call; {} is the one that comes nearest", nearest.name);
  refusal.said = refusal.line =
      fmt::format("{} is not supported because: {}", nearest.name, fmt::join(nearest.reasons, "; "));
  refusal.first_line = nearest.line;
  refusal.times = 1;
  refusal.means = fmt::format(
      "xFormers asks {} kernels in turn, and each says what it lacks. What is of the GPU or of the build a caller cannot change; what is of "
      "the tensors he can. cuDNN has no part in it. (Read by rule.)",
      candidates.size());
  for (const auto& reason : nearest.reasons) {
    const auto matter = std::find_if(readings().matters.begin(), readings().matters.end(),
                                     [&](const Matter& one) { return has_words(reason, *one.words); });
    refusal.causes.push_back(matter == readings().matters.end() ? reason : fmt::format("{}: {}", reason, matter->step));
  }
  const auto program = std::find_if(readings().programs.begin(), readings().programs.end(),
                                    [](const NamedAttention& one) { return one.name == "xFormers"; });
  const std::string instead = program == readings().programs.end() ? "" : program->instead;
  refusal.next = !nearest.hint.empty() ? nearest.hint : all_for_good ? instead : refusal.causes.front();
  if (refusal.next != instead) refusal.help = instead;
  refusal.source = "by rule: the list is read, and nothing of it is known";
  return refusal;
}

}  // namespace attnprobe::diagnose
