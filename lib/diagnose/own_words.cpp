#include "diagnose/own_words.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "diagnose/search_options.hpp"

namespace attnprobe::diagnose {
namespace {

constexpr size_t longest_sentence = 320, shortest_sentence = 24, most_of_a_kind = 2, most_sentences = 2000;

// A line that a person wrote, and no program.
bool is_prose(std::string_view line) {
  static const RE2 tag("^\\[[A-Za-z][A-Za-z /-]{1,30}\\][: ]*");  // "[Bug]"
  if (re2::StringPiece found; tag.Match(piece(line), 0, line.size(), RE2::ANCHOR_START, &found, 1))
    line.remove_prefix(found.size());
  static const RE2 written_by_programs(
      "^(?:File \"|Traceback|at |\\[|\\d{4}-\\d\\d|\\d\\d:\\d\\d|(?:\\(\\w+ pid=\\d+\\) ?)?(?:INFO|WARN(?:ING)?|ERROR|DEBUG)\\b|import |from \\w+ import|def |class |return |with |for |if |"
      "assert |raise |#include|\\$ |pip |python3? |>>>|\\+|[{}()<|^~=*_-]+$)|\\w(?:Error|Warning|Exception): |[;{]$|\\['|\\d+/\\d+ \\[|\\w\\.py:\\d+\\]|^\\S+ is not supported because|^\\w+ = |://\\S+$");
  // "set_attention_backend() works on a whole model, but fails on a part of it."
  static const RE2 call("^\\w+(?:\\.\\w+)* ?\\("),
      call_in_sentence("^\\w+(?:\\.\\w+)* ?\\([^()]{0,80}\\)(?: [A-Za-z,'-]+){4}");
  if (has_words(line, call) && !has_words(line, call_in_sentence)) return false;
  return !has_words(line, written_by_programs) && line.find(' ') != std::string_view::npos;
}

// Ends of sentences: ". ", "! ", "? ", and the line's end.
std::vector<std::string_view> sentences_of(std::string_view line) {
  std::vector<std::string_view> sentences;
  size_t begin = 0;
  for (size_t i = 0; i + 1 < line.size(); ++i)
    if ((line[i] == '.' || line[i] == '!' || line[i] == '?') && line[i + 1] == ' ' &&
        (i + 2 >= line.size() || line[i + 2] < 'a' || line[i + 2] > 'z')) {
      sentences.push_back(trim(line.substr(begin, i + 1 - begin)));
      begin = i + 1;
    }
  sentences.push_back(trim(line.substr(std::min(begin, line.size()))));
  return sentences;
}

// How much a sentence tells of the cause: 0 for nothing.
int tells_why(std::string_view sentence) {
  static const RE2 surely(
      "root cause|turns out|(?:the|this) (?:reason|cause|culprit) (?:is|was|seems)|is caused by|was caused by|caused by",
      any_case());
  static const RE2 likely(
      "\\bhard-?coded?|regardless of|\\bcan(?:not|'t) handle|(?:the|this) (?:problem|issue|bug) (?:is|was|seems|comes)|\\bdue to\\b|since .{1,60} changed|"
      "\\bbecause\\b|so (?:te|it|this) can ?not|(?:is|are|was|were) still used|only (?:built|compiled) for|does not (?:pass|forward|check|take)",
      any_case());
  static const RE2 asks("\\?$|^(?:is|are|does|do|can|could|why|how|what)\\b", any_case());
  if (has_words(sentence, asks)) return 0;
  if (has_words(sentence, surely)) return 2;
  return has_words(sentence, likely) ? 1 : 0;
}

int tells_what_works(std::string_view sentence) {
  static const RE2 surely(
      "(?:works?|worked|runs?|run|passes) (?:\\w+ )?(?:fine|well|correctly|successfully|ok(?:ay)?|as expected|perfectly|without)|\\b(?:is|are|was) (?:fine|clean|correct|ok|not affected)\\b|"
      "no (?:problem|issue|error)s? (?:with|on|when|in)|\\bworkaround|\\b(?:fixes|fixed|solves|solved|resolves|resolved|avoids|helps|goes away|disappears|disappeared)\\b|there is no (?:\\w+ )?error|"
      "(?:once|when|if|after) I (?:\\w+ )?(?:remove|disable|unset|set|use|switch|change|replace|downgrade|upgrade|drop|turn off|turn on|pass|add|comment)\\b.{0,120}(?:success|works?\\b|fine|no (?:\\w+ )?error|\\bok\\b)|"
      "(?:does|do)(?: not|n't) (?:seem to )?(?:happen|occur|reproduce|fail)|without (?:the )?error|\\bno nan (?:when|with|if)|only (?:close|right|correct)|without (?:the )?\\w+ (?:it|everything) (?:works|runs)",
      any_case());
  static const RE2 likely(
      "\\bworks? (?:with|on|when|if|in|under)\\b|calls the kernel|it works\\b|only (?:since|from|with|on|when)\\b",
      any_case());
  static const RE2 denied(
      "(?:not|n't|never|no longer|doesn't|does not) (?:\\w+ )?(?:work|help|fix|solve)|\\bdid not help|\\bshould (?:work|run|be)|expect|duplicate|doesn't exist|does not exist|works?,? but|would be|as if|\\bif it works|\\bhow\\b.{0,40}\\bfix",
      any_case());
  if (has_words(sentence, denied)) return 0;
  if (has_words(sentence, surely)) return 2;
  return has_words(sentence, likely) ? 1 : 0;
}

using Scored = std::vector<std::pair<int, std::string>>;

std::vector<std::string> best_of(Scored sentences) {
  std::stable_sort(sentences.begin(), sentences.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> best;
  for (auto& [score, sentence] : sentences)
    if (best.size() < most_of_a_kind && std::find(best.begin(), best.end(), sentence) == best.end())
      best.push_back(std::move(sentence));
  return best;
}

}  // namespace

bool has_prose(std::string_view text) {
  constexpr std::ptrdiff_t least_blanks = 6;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = trim(text.substr(begin, end - begin));
    begin = end + 1;
    const bool is_wide = std::any_of(line.begin(), line.end(), [](char c) { return (c & 0x80) != 0; });
    if (is_prose(line) && (is_wide || std::count(line.begin(), line.end(), ' ') >= least_blanks)) return true;
  }
  return false;
}

OwnWords own_words_in(std::string_view text) {
  Scored why, works;
  size_t count = 0;
  for (size_t begin = 0; begin < text.size() && count < most_sentences;) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = trim(text.substr(begin, end - begin));
    begin = end + 1;
    if (!is_prose(line)) continue;
    for (const std::string_view sentence : sentences_of(line)) {
      ++count;
      if (sentence.size() < shortest_sentence || sentence.size() > longest_sentence) continue;
      if (const int score = tells_why(sentence); score > 0) why.emplace_back(score, sentence);
      if (const int score = tells_what_works(sentence); score > 0) works.emplace_back(score, sentence);
    }
  }
  return {best_of(std::move(why)), best_of(std::move(works))};
}

}  // namespace attnprobe::diagnose
