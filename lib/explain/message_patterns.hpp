// What is looked for in a text: each form of words of each sentence, and the words of each of cuDNN's reasons. A pattern is compiled
// when a text has the words that every hit of it has: of some thousand, most never are. Internal to lib/diagnose.
#pragma once

#include <re2/re2.h>
#include <re2/set.h>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "answer/reasons.hpp"
#include "explain/messages.hpp"

namespace attnprobe::explain {

/// Words, in no regular expression, of which each hit of the pattern has one: the runs of plain characters outside of classes and what
/// may be left out, and for a group of alternatives a run of each. The most telling first. The pattern is one that check_sentences.py
/// calls portable.
std::vector<std::vector<std::string>> words_of_each_hit(std::string_view pattern);

/// What is looked for: a form of a sentence, or a reason.
struct Wanted {
  const Message* message = nullptr;
  size_t match = 0;
  const answer::KnownReason* reason = nullptr;
  bool has_gap = false;
};

class MessagePatterns {
 public:
  /// Throws Error(internal) where a pattern is not a regular expression: of those with words, at their first use.
  MessagePatterns();

  /// Those that may be in the text, by number.
  std::vector<int> possible(std::string_view text) const;

  const RE2& pattern(int id) const;
  const Wanted& wanted(int id) const { return entries_[static_cast<size_t>(id)].wanted; }
  int size() const { return static_cast<int>(entries_.size()); }

 private:
  struct Entry {
    std::string pattern;
    Wanted wanted;
    unsigned needed = 0;  // a bit for each choice of words of which a text has to have one
    mutable std::once_flag once;
    mutable std::unique_ptr<RE2> compiled;
  };

  void add(std::string pattern, const Wanted& wanted);
  std::vector<int> words_in(std::string_view text) const;

  std::deque<Entry> entries_;
  // Which entries have these words, and as which choice, by their number in words_.
  std::vector<std::vector<std::pair<int, unsigned>>> of_words_;
  std::vector<int> without_words_;
  std::vector<std::string> words_;  // in small letters
  // Compiling the set of them costs more than to look for each in a short text.
  mutable std::atomic<int> searches_{0};
  mutable std::once_flag set_once_;
  mutable std::unique_ptr<RE2::Set> set_;
};

/// All that is built in. Safe to use from several threads.
const MessagePatterns& message_patterns();

/// The words by which a reason is found in a text; "" for those that only a status or a heading would tell.
std::string words_of_reason(const answer::KnownReason& reason);

}  // namespace attnprobe::explain
