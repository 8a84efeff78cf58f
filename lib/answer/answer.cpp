#include "answer/answer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "gpu/catalogue.hpp"

namespace attnprobe::answer {

std::string text_of(const FirstVersion& from) {
  const std::string version = from.version.text();
  if (from.asked) return fmt::format("from cuDNN {} ({} refuses)", version, from.refused_by.text());
  if (!from.asked_back_to.is_known()) return fmt::format("from cuDNN {} by rule", version);
  return fmt::format("from cuDNN {} by rule, checked back to {}", version, from.asked_back_to.text());
}

bool is_other_model(const WayOut& way) {
  return std::ranges::find(way.kinds, "model") != way.kinds.end();
}

std::string text_of(const WayOut& way) {
  const auto more = [](double ratio, const char* what) -> std::string {
    if (ratio >= 10) return fmt::format(", {:.0f} times the {}", ratio, what);
    if (ratio >= 2) return fmt::format(", {:.2g} times the {}", ratio, what);
    return ratio > 1.005 ? fmt::format(", {:.0f} % more {}", 100 * (ratio - 1), what) : "";
  };
  return fmt::format("{}: supported here, by engine {}{}{}", fmt::join(way.changes, "; and "), way.engine,
                     more(way.work, "work"), more(way.memory, "memory"));
}

Word word_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::supported:
      return Word::yes;
    case Verdict::unsupported:
      return Word::no;
    case Verdict::invalid_graph:
      return Word::invalid_graph;
    case Verdict::error:
      return Word::error;
    case Verdict::crashed:
      return Word::crashed;
    case Verdict::timeout:
      return Word::timeout;
    case Verdict::wrong_result:
      return Word::wrong_result;
  }
  return Word::error;
}

Word word_of(const Answer& result) {
  if (result.usable)
    return result.usable == Usable::yes ? Word::yes : result.usable == Usable::but ? Word::but : Word::no;
  return result.environment_broken ? Word::environment : word_of(result.verdict);
}

std::string short_reason(const Answer& result) {
  if (!result.root_cause) return "";
  const std::string& reason = result.root_cause->reason;
  // cuDNN's reason is followed by the condition in its source; other reasons are whole sentences.
  const std::string words = result.root_cause->status.empty() ? reason : reason.substr(0, reason.find(" at: "));
  return words.empty() ? result.root_cause->explanation : words;
}

attention::ExpectedVerdict expected(const Answer& result) {
  const auto& expect = result.config.spec.expect;
  const gpu::Target* twin = gpu::twin(result.target);
  const auto is_meant = [&](const std::string& word) {
    return word == result.target.id || (twin != nullptr && gpu::find(word) == twin);
  };
  const std::string version = result.cudnn_version.is_known() ? result.cudnn_version.text() : "";
  // Order: "b200@9.8", "b200", "default@9.8".
  const attention::ExpectedVerdict* of_target = nullptr;
  const attention::ExpectedVerdict* of_version = nullptr;
  for (const auto& [word, verdict] : expect.by_target) {
    const size_t at = word.find('@');
    const bool has_version = at != std::string::npos;
    if (has_version && (version.empty() || !is_of_version(version, word.substr(at + 1)))) continue;
    if (const std::string target = word.substr(0, at); target == "default") {
      of_version = &verdict;
    } else if (is_meant(target)) {
      if (has_version) return verdict;
      of_target = &verdict;
    }
  }
  return of_target != nullptr ? *of_target : of_version != nullptr ? *of_version : expect.otherwise;
}

bool met_expectation(const Answer& result) {
  using attention::ExpectedVerdict;
  switch (expected(result)) {
    case ExpectedVerdict::supported:
      return result.verdict == Verdict::supported;
    case ExpectedVerdict::unsupported:
      return result.verdict == Verdict::unsupported;
    case ExpectedVerdict::yes:
      return result.usable == Usable::yes;
    case ExpectedVerdict::but:
      return result.usable == Usable::but;
    case ExpectedVerdict::no:
      return result.usable == Usable::no;
    case ExpectedVerdict::any:
      break;
  }
  return result.verdict == Verdict::supported || result.verdict == Verdict::unsupported;
}

}  // namespace attnprobe::answer
