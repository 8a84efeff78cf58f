#include "diagnose/other_failures.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/text.hpp"
#include "diagnose/readings.hpp"
#include "diagnose/search_options.hpp"
#include "diagnose/text_lines.hpp"

namespace attnprobe::diagnose {
namespace {

constexpr size_t longest_line_told = 300;

// The line of source in which an exception's innermost frame stands; npos where an attention's own file is near it.
size_t innermost_line(const std::vector<Line>& lines, size_t exception) {
  constexpr size_t frames_looked_at = 3, reach = 24;
  size_t found = std::string_view::npos, frames = 0;
  const size_t first = exception - std::min(exception, reach);
  for (size_t i = exception; i-- > first;) {
    const std::string_view line = trim(lines[i].text);
    if (line.starts_with("Traceback")) break;
    // IPython's "----> 22 x = torch.randn(…)".
    if (static const RE2 arrow("^-+> ?\\d+ ", exact_case()); has_words(line, arrow)) return i;
    if (!line.starts_with("File \"")) continue;
    if (has_words(line, attention_words())) return std::string_view::npos;
    if (found == std::string_view::npos && i + 1 < exception) found = i + 1;
    if (++frames == frames_looked_at) break;
  }
  return found;
}

bool is_exception(std::string_view line) {
  static const RE2 exception("^(?:[A-Za-z_]\\w*\\.)*[A-Z]\\w*(?:Error|Exception): ?\\S", exact_case());
  return has_words(trim(line), exception);
}

Refusal refusal_of(const OtherFailure& other, const Line& line) {
  Refusal refusal;
  refusal.kind = SentenceKind::reading;
  refusal.id = "other-" + other.id;
  refusal.layer = Layer::execution;
  refusal.who = "the text";
  refusal.headline = "What fails is not the attention itself";
  refusal.said = refusal.line = std::string(trim(line.text).substr(0, longest_line_told));
  refusal.first_line = line.number;
  refusal.times = 1;
  refusal.means = fmt::format("That is {}. (Read by rule.)", other.what);
  refusal.next = other.step;
  refusal.source = "by rule: attnprobe knows no such sentence, and read its words";
  return refusal;
}

// The last line that has the words.
const Line* last_line_with(const std::vector<Line>& lines, const RE2& words) {
  const auto found =
      std::find_if(lines.rbegin(), lines.rend(), [&](const Line& line) { return has_words(line.text, words); });
  return found == lines.rend() ? nullptr : &*found;
}

}  // namespace

std::optional<Refusal> read_other_failure(std::string_view text) {
  const std::vector<Line> lines = lines_of(text);
  for (const OtherFailure& other : readings().others) {
    if (other.source_line) {
      for (size_t i = lines.size(); i-- > 0;) {
        if (!is_exception(lines[i].text)) continue;
        const size_t at =
            has_words(lines[i].text, attention_words()) ? std::string_view::npos : innermost_line(lines, i);
        if (at != std::string_view::npos && has_words(lines[at].text, *other.source_line) &&
            !has_words(lines[at].text, attention_words())) {
          Refusal refusal = refusal_of(other, lines[i]);
          refusal.means = fmt::format("The exception comes from \"{}\", which is {}. (Read by rule.)",
                                      trim(lines[at].text).substr(0, longest_line_told), other.what);
          return refusal;
        }
        break;  // the last exception is the one that counts
      }
      continue;
    }
    if ((other.near && !has_words(text, *other.near)) || (other.unless && has_words(text, *other.unless))) continue;
    const Line* line = last_line_with(lines, *other.words);
    if (line == nullptr) continue;
    constexpr size_t end_of_text = 6;
    if (other.only_last && static_cast<size_t>(line->number) + end_of_text < lines.size()) continue;
    return refusal_of(other, *line);
  }
  return std::nullopt;
}

}  // namespace attnprobe::diagnose
