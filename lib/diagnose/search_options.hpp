// How texts of others are searched: as bytes, since logs are not promised to be UTF-8.
#pragma once

#include <re2/re2.h>

#include <string_view>

namespace attnprobe::diagnose {

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

/// Whether they stand anywhere in the text.
inline bool has_words(std::string_view text, const RE2& words) {
  return RE2::PartialMatch(piece(text), words);
}

}  // namespace attnprobe::diagnose
