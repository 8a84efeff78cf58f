// Compares words regardless of case, dashes and underscores.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attnprobe {

/// In small letters and with underscores: "Causal-Bottom Right" is "causal_bottom_right".
inline std::string plain_word(std::string_view text) {
  std::string plain(text);
  for (char& c : plain) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-' || c == ' ') c = '_';
  }
  return plain;
}

/// The word of `allowed` that equals `text` as a plain word; nullptr: none.
inline const std::string* word_among(std::string_view text, const std::vector<std::string>& allowed) {
  for (const auto& one : allowed)
    if (one == text || plain_word(one) == plain_word(text)) return &one;
  return nullptr;
}

}  // namespace attnprobe
