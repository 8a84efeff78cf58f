// How texts of others are searched: as bytes, since logs are not promised to be UTF-8.
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

/// As RE2 takes texts: in newer releases that is Abseil's type, which is not std::string_view everywhere (Debian 13).
inline re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

/// What words stand for.
template <class T>
struct Worded {
  Worded(T what, const char* pattern) : key(what), words(pattern, any_case()) {}
  T key;
  RE2 words;
};

/// Whether they stand anywhere in the text.
inline bool has_words(std::string_view text, const RE2& words) {
  return RE2::PartialMatch(piece(text), words);
}

/// Calls take(groups, offset) for every match; groups[0] is the whole of it.
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

/// The line that an offset is on, from 1.
inline int64_t line_at(std::string_view text, size_t at) {
  return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
}

/// The sentence around an offset: up to a full stop, a question mark or a line's end.
std::string_view sentence_at(std::string_view text, size_t at);

/// Whether what stands there is said of something that works, beside what does not: "the H100 beside it runs it".
bool is_contrast(std::string_view text, size_t at);

/// Whether what stands there is demanded, and not what there is: "requires A100 or H100 GPUs".
bool is_demanded(std::string_view text, size_t at);

/// A page as prose: ends of lines within a sentence become blanks. As long as the text, so that offsets are the same.
std::string as_prose(std::string_view text);

}  // namespace attnprobe::explain
