// Searches foreign text as bytes, because logs may not be UTF-8.
#pragma once

#include <re2/re2.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace attnprobe::explain {

inline RE2::Options exact_case() {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_log_errors(false);
  return options;
}

inline RE2::Options any_case() {
  RE2::Options options = exact_case();
  options.set_case_sensitive(false);
  return options;
}

/// RE2's text type. In newer releases it is Abseil's, which is not std::string_view on every system (Debian 13).
inline re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

/// Interprets words.
template <class T>
struct Worded {
  Worded(T what, const char* pattern) : key(what), words(pattern, any_case()) {}
  T key;
  RE2 words;
};

/// Whether the words occur anywhere in the text.
inline bool has_words(std::string_view text, const RE2& words) {
  return RE2::PartialMatch(piece(text), words);
}

/// Calls take(groups, offset) for every match; groups[0] is the whole match.
template <class Take>
void each_match(const RE2& pattern, std::string_view text, Take&& take) {
  constexpr int most = 5;
  const int groups = std::min(pattern.NumberOfCapturingGroups() + 1, most);
  re2::StringPiece found[most];
  std::string words[most];
  for (size_t at = 0;
       at < text.size() && pattern.Match(piece(text), at, text.size(), RE2::UNANCHORED, found, groups);) {
    const auto begin = static_cast<size_t>(found[0].data() - text.data());
    for (int i = 0; i < groups; ++i)
      words[i] = std::string(found[i].data() == nullptr ? "" : found[i].data(), found[i].size());
    take(words, begin);
    at = begin + std::max<size_t>(found[0].size(), 1);
  }
}

/// The first group of a match that is not empty; "" if there is none.
inline const std::string& first_group(const std::string* words) {
  return *std::find_if(words + 1, words + 4, [](const std::string& word) { return !word.empty(); });
}

/// The last letters before an offset, at most `most`.
inline std::string_view letters_before(std::string_view text, size_t at, size_t most) {
  return text.substr(at - std::min(at, most), std::min(at, most));
}

/// The line number of an offset, from 1.
inline int64_t line_at(std::string_view text, size_t at) {
  return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
}

/// The sentence around an offset: up to a full stop, a question mark or a line end.
std::string_view sentence_at(std::string_view text, size_t at);

/// Whether the words at `at` describe something that works, in contrast to the failure: "but the H100 runs it".
bool is_contrast(std::string_view text, size_t at);

/// Whether that half of a sentence names a GPU or a version: "on the H100 it works". What else it says may be shared.
bool names_place(std::string_view text, size_t at);

/// Whether the words at `at`, of `size` letters, are denied: "no bias", "without dropout or a sink", "paged=False".
bool is_denied(std::string_view text, size_t at, size_t size);

/// Whether the words at `at` are in a further question: "does it run by default? And with a mask?"
bool is_further(std::string_view text, size_t at);

/// Whether the words at `at` are about another kernel or in a further question, "…, and does it work with dropout?".
bool is_aside(std::string_view text, size_t at);

/// Whether the words at `at` are what something is compared with: "slower than the causal run".
bool is_compared(std::string_view text, size_t at);

/// Whether the words at `at` belong to a working and a failing case: "FP8 runs on the H100 and is refused on the A100".
bool is_of_both(std::string_view text, size_t at);

/// Whether the words at `at` head a list of cases: "head dim 64: inference OK, training fails".
bool is_heading(std::string_view text, size_t at);

/// Whether the words at `at` are in a clause about another attention kernel than cuDNN's.
bool is_of_another_kernel(std::string_view text, size_t at);

/// Whether the words at `at` state a requirement, not a fact: "requires A100 or H100 GPUs".
bool is_demanded(std::string_view text, size_t at);

/// Whether the words at `at`, of `size` letters, state a value of before, "from head dim 256 to 128", or a bound.
bool is_replaced(std::string_view text, size_t at, size_t size);

/// Whether the words are the unit of the number before them: " times", "%", " GiB".
bool begins_with_unit(std::string_view words);

/// Whether the words at `at` state what a program was built with: "built against cuDNN 9.6.0".
bool is_built_with(std::string_view text, size_t at);

/// A page as prose: line ends within a sentence become blanks. It has the same length, so that offsets stay valid.
std::string as_prose(std::string_view text);

}  // namespace attnprobe::explain
