// Lists without duplicates, in the order of first mention.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace attnprobe {

/// Appends `word` unless the list already has it.
inline void add_once(std::vector<std::string>& words, const std::string& word) {
  if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
}

}  // namespace attnprobe
