// Reads the fields of a question from prose, one after the other.
#pragma once

#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explain/told_question.hpp"
#include "explain/words.hpp"

namespace attnprobe::explain {

/// The shape that a bias is assumed to have.
constexpr const char* usual_bias = "1hss";

/// Reads fields one after the other; text used by one field is not read again.
class Reader {
 public:
  /// With `shared`, reads also what a working case says of a GPU or version: "d 256 works on the H100, but not here".
  explicit Reader(std::string_view page, bool shared = false) : page_(page), text_(as_prose(page)), shared_(shared) {}

  /// Calls take(groups) for each match that is not about a working case. If take() returns true, the match is consumed.
  template <class Take>
  void each(const RE2& pattern, Take&& take) {
    std::vector<std::pair<size_t, size_t>> read;
    each_match(pattern, text_, [&](const std::string* words, size_t at) {
      if (is_other_case(at)) question.has_cases = true;
      if (is_other_case(at) || is_demanded(text_, at)) return;
      // The end of another number: "1.5k keys".
      if (at > 1 && text_[at - 1] == '.' && std::isdigit(static_cast<unsigned char>(text_[at])) != 0 &&
          std::isdigit(static_cast<unsigned char>(text_[at - 2])) != 0)
        return;
      if (is_replaced(text_, at, words[0].size())) return;
      words_ = words[0];
      at_ = at;
      if (take(words)) read.emplace_back(at, words[0].size());
    });
    for (const auto& [at, size] : read) text_.replace(at, size, size, '\x01');
  }

  /// The first value counts, unless the text corrects it; further values are candidates.
  bool set(const std::string& field, Json value) {
    const auto told = std::find_if(question.fields.begin(), question.fields.end(),
                                   [&](const ToldField& one) { return one.field == field; });
    const bool is_first = told == question.fields.end();
    // "d_v=192... correction: d_v=128"
    static const RE2 corrected("\\b(?:correction|sorry|i meant?|make that)\\W{1,3}$", any_case());
    if (!is_first && has_words(before(), corrected)) {
      told->value = std::move(value);
      return true;
    }
    if (is_first || (told->value != value && question.others.size() < most_others))
      (is_first ? question.fields : question.others).push_back({field, std::move(value), line_at(page_, at_), words_});
    return is_first;
  }

  /// Whether the pattern matches as a fact of the call, without a negation such as "no causal mask" or "without dropout". With `states`, "needs
  /// bf16" does not count.
  bool says(const RE2& pattern, bool states = false) {
    bool found = false;
    each_match(pattern, text_, [&](const std::string* words, size_t at) {
      // A pattern may begin with the character before the word: " bias".
      std::string_view word = words[0];
      const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
      for (; word.size() > 1 && !is_letter(word.front()) && word.front() != '-'; word.remove_prefix(1)) ++at;
      while (word.size() > 1 && !is_letter(word.back())) word.remove_suffix(1);
      const size_t size = word.size();
      if (is_further(text_, at)) question.is_partial = true;
      if (found || (is_other_case(at) && !is_of_both(text_, at)) || is_aside(text_, at) ||
          (states && is_demanded(text_, at)) || is_denied(text_, at, size) || is_compared(text_, at))
        return;
      found = true;
      words_ = words[0];
      at_ = at;
    });
    return found;
  }

  /// The sentence of the last match, as far as that match, at most its last 64 letters.
  std::string_view before() const {
    const std::string_view sentence = sentence_at(text_, at_);
    const std::string_view begin = sentence.substr(0, static_cast<size_t>(text_.data() + at_ - sentence.data()));
    return begin.substr(begin.size() - std::min<size_t>(begin.size(), 64));
  }

  /// The sentence of the last match.
  std::string_view sentence() const { return sentence_at(text_, at_); }

  /// The page as prose, without what was read.
  std::string_view rest() const { return text_; }

  /// The words of the last match.
  const std::string& words() const { return words_; }

  /// Whether a working case was left out that names a GPU or version.
  bool has_shared() const { return has_shared_; }

  ToldQuestion question;

 private:
  bool is_other_case(size_t at) {
    if (!is_contrast(text_, at) || is_heading(text_, at)) return false;
    const bool is_shared = names_place(text_, at);
    has_shared_ = has_shared_ || is_shared;
    return !(shared_ && is_shared);
  }

  static constexpr size_t most_others = 3;  ///< candidates kept
  std::string_view page_;
  std::string text_;
  size_t at_ = 0;  // offset of the last match
  std::string words_;
  bool shared_, has_shared_ = false;
};

inline RE2 any(const char* pattern) {
  return RE2(pattern, any_case());
}

/// What `assumed` says of pages without a size.
constexpr const char* assumed_pages = "pages of 64 tokens";

/// "4k" is 4096, "4,096" too; none if no tensor can have that size.
std::optional<int64_t> size_of(std::string digits);

/// Shapes: "q: bf16[2,4096,16,128]", "(2048, 2, 16, 64) sbhd". With `heads_third`, heads follow the tokens.
void read_tuples(Reader& reader, bool heads_third);

/// Sizes in words: "16 heads of 128, 4k tokens", pages, and decoding.
void read_sizes(Reader& reader);

/// A bias with its type, shape and gradient. Before the data types, because its type is not Q's.
void read_bias(Reader& reader);

/// Data types, fp8 scaling and the pass.
void read_types(Reader& reader);

/// Sink, softcap, dropout, determinism and other features.
void read_features(Reader& reader);

/// Adds words for features that none of the read fields has.
void find_unread(Reader& reader);

/// Chooses the framework of the call: a framework with a release first, then the one closest to cuDNN.
void choose_framework(ToldQuestion& question, std::string_view page, const TextFacts& facts);

}  // namespace attnprobe::explain
