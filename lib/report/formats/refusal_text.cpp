#include "report/formats/refusal_text.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/printable.hpp"

namespace attnprobe::report {
namespace {

using diagnose::Refusal;

constexpr size_t most_others = 8;

std::string place_in_words(const Refusal& refusal) {
  return fmt::format("line {}{}", refusal.first_line,
                     refusal.times > 1 ? fmt::format(" and {} more", refusal.times - 1) : std::string());
}

std::string titled_part(const std::string& head, const std::string& text, const TextStyle& style) {
  return text.empty() ? "" : fmt::format("  {}\n", head) + wrapped(text, 4, style.width);
}

// Whether it adds nothing for people: it only hands on what a sentence further inside says, or is other words of the
// same line.
bool is_said_by_another(const diagnose::TextAnswer& answer, size_t index) {
  const Refusal& refusal = answer.refusals[index];
  if (refusal.kind == diagnose::SentenceKind::general && answer.refusals.front().kind != refusal.kind) return true;
  for (size_t i = 0; i < index; ++i)
    if (answer.refusals[i].first_line == refusal.first_line && answer.refusals[i].times >= refusal.times) return true;
  return false;
}

}  // namespace

std::string refusals_text(const diagnose::TextAnswer& answer, const TextStyle& style) {
  const Refusal& first = answer.refusals.front();
  std::string head = first.headline;
  if (!first.versions.empty() && first.versions.size() < 80) head += fmt::format(" ({})", first.versions);
  std::string out = wrapped(head, 0, style.width);
  if (style.colour) out = coloured(out.substr(0, out.size() - 1), "1") + "\n";
  out += titled_part(fmt::format("it says ({})", place_in_words(first)), first.line, style);
  std::string callers;
  for (const auto& caller : answer.callers) callers += (callers.empty() ? "" : ", ") + caller;
  out += titled_part("the call came from", callers, style);
  out += titled_part("what it means", first.means, style);
  if (!first.causes.empty()) {
    out += first.causes.size() == 1 ? "  most likely\n" : "  the likeliest causes first\n";
    for (size_t i = 0; i < first.causes.size(); ++i)
      out += wrapped(first.causes.size() == 1 ? first.causes[i] : fmt::format("{}. {}", i + 1, first.causes[i]), 4,
                     style.width);
  }
  out += titled_part("what else helps", first.help, style);
  for (const auto& [title, sentences] : {std::pair("the text itself says why", &answer.own_words.why),
                                         std::pair("the text itself says what works", &answer.own_words.works)})
    for (const auto& sentence : *sentences) out += titled_part(title, "\"" + sentence + "\"", style);
  if (!answer.bugs.empty())
    out += "  known bugs of cuDNN that fit what the text tells; whether it is one of them is not proved\n";
  for (const auto& bug : answer.bugs)
    out += wrapped(fmt::format("- {} ({}; {}): {} {}", bug.id, bug.versions, bug.why, bug.what, bug.advice), 4,
                   style.width);
  std::string told;
  for (const auto& fact : answer.told) told += (told.empty() ? "" : "; ") + fact;
  out += titled_part("the text also tells", told, style);
  out += other_refusals_text(answer, 1, style);
  return out;
}

std::string other_refusals_text(const diagnose::TextAnswer& answer, size_t first, const TextStyle& style) {
  std::vector<const Refusal*> others;
  for (size_t i = first; i < answer.refusals.size(); ++i)
    if (!is_said_by_another(answer, i)) others.push_back(&answer.refusals[i]);
  if (others.empty()) return "";
  std::string out = "  also in the text\n";
  for (size_t i = 0; i < others.size() && i < most_others; ++i)
    out += wrapped(fmt::format("- {} ({}): {}", others[i]->headline, place_in_words(*others[i]), others[i]->means), 4,
                   style.width);
  if (others.size() > most_others)
    out += fmt::format("    and {} more (--format json has all)\n", others.size() - most_others);
  return out;
}

}  // namespace attnprobe::report
