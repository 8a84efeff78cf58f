#include "diagnose/symptoms.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "diagnose/error_lines.hpp"
#include "diagnose/named_programs.hpp"
#include "diagnose/old_releases.hpp"
#include "diagnose/search_options.hpp"

namespace attnprobe::diagnose {
namespace {

using re2::StringPiece;

std::vector<size_t> places_of(std::string_view text, const RE2& words) {
  constexpr size_t most = 256;
  std::vector<size_t> places;
  StringPiece found;
  for (size_t at = 0; at < text.size() && places.size() < most &&
                      words.Match(piece(text), at, text.size(), RE2::UNANCHORED, &found, 1);) {
    const auto place = static_cast<size_t>(found.data() - text.data());
    places.push_back(place);
    at = place + std::max<size_t>(found.size(), 1);
  }
  return places;
}

bool stands_with(size_t at, const std::vector<size_t>& others, size_t within) {
  return std::any_of(others.begin(), others.end(),
                     [&](size_t other) { return std::max(at, other) - std::min(at, other) <= within; });
}

std::optional<Told> told_in(std::string_view text, const Symptom& symptom) {
  constexpr int64_t in_title = 5;
  std::vector<std::vector<size_t>> places;
  for (const Words& words : symptom.all) {
    places.push_back(places_of(text, *words));
    if (places.back().empty()) return std::nullopt;
  }
  const size_t title_end = text.find('\n');
  std::optional<Told> told;
  for (const size_t at : places.front()) {
    if (!std::all_of(places.begin() + 1, places.end(),
                     [&](const auto& others) { return stands_with(at, others, symptom.within); }))
      continue;
    const size_t begin = at - std::min(at, symptom.within);
    if (symptom.unless && has_words(text.substr(begin, 2 * symptom.within), *symptom.unless)) continue;
    if (!told) told = Told{&symptom, at, 0};
    told->score += symptom.weight * (at < title_end ? in_title : 1);
  }
  return told;
}

// A title that says what is wrong asks nothing in general.
bool is_complaint(std::string_view title) {
  static const RE2 words(
      "^\\W*bugs?\\b|\\bbug\\b|does(?: not|n't)|\\bwrong|\\berror\\b|\\bfail|crash|cannot|can't|broken|regression|not work",
      any_case());
  static const RE2 asks("\\?$|^\\W*how |question", any_case());
  return has_words(title, words) && !has_words(title, asks);
}

std::vector<Told> all_told(std::string_view text) {
  std::vector<Told> all;
  for (const Symptom& symptom : readings().symptoms)
    if (const auto told = told_in(text, symptom)) all.push_back(*told);
  // What a text asks in general comes after what it complains of.
  std::stable_sort(all.begin(), all.end(), [](const Told& a, const Told& b) {
    return std::pair(a.symptom->is_question, -a.score) < std::pair(b.symptom->is_question, -b.score);
  });
  return all;
}

}  // namespace

std::vector<Told> most_told(std::string_view text) {
  std::vector<Told> told = all_told(text);
  if (told.empty()) return told;
  const int64_t enough = (told.front().score + 1) / 2;
  const bool is_question = told.front().symptom->is_question;
  if (is_question && is_complaint(text.substr(0, text.find('\n')))) return {};
  std::erase_if(told, [&](const Told& one) { return one.score < enough || one.symptom->is_question != is_question; });
  return told;
}

Refusal refusal_of(const Symptom& symptom, std::string_view text, size_t at, const TextFacts& facts) {
  const size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
  const size_t end = std::min(text.find('\n', at), text.size());
  Refusal refusal;
  refusal.kind = SentenceKind::reading;
  refusal.id = "told-" + symptom.id;
  refusal.layer = Layer::execution;
  refusal.who = "the text";
  refusal.headline = symptom.headline;
  const size_t from = at - begin > longest_line_shown / 2 ? at - longest_line_shown / 4 : begin;
  refusal.said = refusal.line = std::string(trim(text.substr(from, std::min(end - from, longest_line_shown))));
  refusal.first_line =
      static_cast<int64_t>(std::count(text.begin(), text.begin() + static_cast<long>(begin), '\n')) + 1;
  refusal.times = 1;
  refusal.means = symptom.means;
  const NamedAttention* asked_about = with_limits(text);
  if (const size_t mark = refusal.means.find("{limits}"); mark != std::string::npos)
    refusal.means.replace(mark, 8,
                          asked_about != nullptr ? asked_about->limits
                                                 : "It depends on the library's release, the GPU and the whole shape.");
  for (const bool likelier : {true, false})
    for (const auto& cause : symptom.causes)
      if ((cause.when && has_words(text, *cause.when)) == likelier && (!cause.only || has_words(text, *cause.only)))
        refusal.causes.push_back(cause.text);
  refusal.is_question = symptom.is_question;
  const NamedAttention* program = program_in(text.substr(0, text.find('\n')));
  if (program == nullptr) program = program_in(text);
  const std::string around = way_around(program, host_in(text));
  // An attention that never calls cuDNN is gone around in its own way.
  const bool is_apart =
      program != nullptr && program->apart && !program->name.starts_with("PyTorch") && !around.empty();
  const auto put = [](std::string& step, std::string_view mark, const std::string& words) {
    for (size_t place; (place = step.find(mark)) != std::string::npos;) step.replace(place, mark.size(), words);
  };
  const auto written = [&](std::string step) {
    put(step, "{instead}", around.empty() ? "another attention" : around);
    return with_ways(std::move(step), facts);
  };
  const bool is_compared = symptom.next.find("{unfused}") != std::string::npos;
  refusal.next =
      is_apart && is_compared
          ? fmt::format("{}: where that is right, the kernel of {} was at fault, and a newer release of it may not be",
                        around, program->name)
          : written(symptom.next);
  if (!is_apart || symptom.also.find("{off}") == std::string::npos) refusal.help = written(symptom.also);
  if (symptom.is_question) return refusal;
  // What nobody refuses may be a bug, and may be mended.
  for (const OldRelease& old : old_releases(text)) {
    const bool is_own = program != nullptr && program->name == old.name && !symptom.effects.empty();
    refusal.causes.insert(is_own ? refusal.causes.begin() : refusal.causes.end(), old.text());
    if (is_own) refusal.next = fmt::format("a newer {}; {}", old.name, refusal.next);
  }
  refusal.source = by_rule;
  return refusal;
}

}  // namespace attnprobe::diagnose
