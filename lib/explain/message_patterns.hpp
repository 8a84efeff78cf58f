// The patterns to search for: each form of each sentence. A pattern is compiled only when a text has the words that
// every match needs, so most of about a thousand are never compiled. Internal to lib/explain.
#pragma once

#include <re2/re2.h>

#include <bitset>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "explain/messages.hpp"

namespace attnprobe::explain {

/// Lists of plain words; each match of the pattern has at least one word of each list. They are the runs of plain
/// characters outside classes and optional parts; a group of alternatives contributes one run per alternative. Most
/// specific first. The pattern must be portable: no (?…), no back-references, no POSIX classes, no possessive
/// quantifiers.
std::vector<std::vector<std::string>> words_of_each_hit(std::string_view pattern);

/// What to search for: a form of a sentence.
struct Wanted {
  const Message* message = nullptr;
  size_t match = 0;
};

class MessagePatterns {
 public:
  /// Throws Error(internal) for an invalid regular expression; for patterns with words, only at first use.
  MessagePatterns();

  /// The indices of the patterns that may match the text.
  std::vector<int> possible(std::string_view text) const;

  const RE2& pattern(int id) const;
  const Wanted& wanted(int id) const { return entries_[static_cast<size_t>(id)].wanted; }
  int size() const { return static_cast<int>(entries_.size()); }

 private:
  struct Entry {
    std::string pattern;
    Wanted wanted;
    unsigned needed = 0;  // one bit per list of words; the text needs a word of each list
    mutable std::once_flag once;
    mutable std::unique_ptr<RE2> compiled;
  };

  void add(std::string pattern, const Wanted& wanted);
  std::vector<int> words_in(std::string_view text) const;

  std::deque<Entry> entries_;
  // By index in words_: the entries with that word, and its list in each.
  std::vector<std::vector<std::pair<int, unsigned>>> of_words_;
  std::vector<int> without_words_;
  std::vector<std::string> words_;  // in small letters
  // The words by their first letters, with hashes of these: no word begins at most places of a text.
  std::unordered_map<uint32_t, std::vector<int>> begun_by_;
  std::bitset<size_t{1} << 16> heads_;
};

/// All built-in patterns. Thread-safe.
const MessagePatterns& message_patterns();

}  // namespace attnprobe::explain
