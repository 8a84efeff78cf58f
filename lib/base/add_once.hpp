// Lists without repetitions, in the order of their first mention.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace attnprobe {

/// Appends `word` unless it is in the list.
inline void add_once(std::vector<std::string>& words, const std::string& word) {
  if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
}

}  // namespace attnprobe
