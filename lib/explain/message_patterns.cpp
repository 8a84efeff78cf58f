#include "explain/message_patterns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "explain/words.hpp"

namespace attnprobe::explain {
namespace {

constexpr size_t fewest_letters = 3;  // shorter words occur in every text
constexpr size_t most_choices = 3;    // per pattern; more would exclude hardly any other texts

RE2::Options pattern_options() {
  RE2::Options options = any_case();
  options.set_max_mem(int64_t{2} << 20);  // for each pattern with all its words in a text; the default of 8 MB each
                                          // would add up
  return options;
}

[[noreturn]] void fail(const std::string& what) {
  throw Error(ErrorKind::internal, fmt::format("sentences: {} is not a regular expression for RE2", what));
}

// The offset after the character class that begins at `at`.
size_t after_class(std::string_view pattern, size_t at) {
  ++at;
  if (at < pattern.size() && pattern[at] == '^') ++at;
  if (at < pattern.size() && pattern[at] == ']') ++at;
  while (at < pattern.size() && pattern[at] != ']') at += pattern[at] == '\\' ? 2 : 1;
  return at + 1;
}

size_t after_group(std::string_view pattern, size_t at) {
  int depth = 0;
  while (at < pattern.size()) {
    const char c = pattern[at];
    if (c == '\\') {
      at += 2;
    } else if (c == '[') {
      at = after_class(pattern, at);
    } else {
      ++at;
      if (c == '(') ++depth;
      if (c == ')' && --depth == 0) break;
    }
  }
  return at;
}

std::vector<std::string_view> alternatives_of(std::string_view pattern) {
  std::vector<std::string_view> alternatives;
  size_t begin = 0;
  for (size_t at = 0; at < pattern.size();) {
    if (pattern[at] == '|') {
      alternatives.push_back(pattern.substr(begin, at - begin));
      begin = ++at;
    } else if (pattern[at] == '\\') {
      at += 2;
    } else if (pattern[at] == '[') {
      at = after_class(pattern, at);
    } else if (pattern[at] == '(') {
      at = after_group(pattern, at);
    } else {
      ++at;
    }
  }
  alternatives.push_back(pattern.substr(std::min(begin, pattern.size())));
  return alternatives;
}

bool is_one_of(char c, std::string_view characters) {
  return characters.find(c) != std::string_view::npos;
}

using Choice = std::vector<std::string>;

std::string small_letters(std::string_view text) {
  std::string small(text);
  for (char& c : small)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  return small;
}

// The first fewest_letters bytes.
uint32_t head_of(const char* text) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  return byte(0) | byte(1) << 8 | byte(2) << 16;
}

size_t hash_of(uint32_t head) {
  return static_cast<uint16_t>(head ^ (head >> 11));
}

size_t shortest(const Choice& choice) {
  size_t size = choice.front().size();
  for (const std::string& words : choice) size = std::min(size, words.size());
  return size;
}

}  // namespace

std::vector<Choice> words_of_each_hit(std::string_view pattern) {
  const std::vector<std::string_view> alternatives = alternatives_of(pattern);
  if (alternatives.size() > 1) {
    Choice all;
    for (const std::string_view alternative : alternatives) {
      const std::vector<Choice> choices = words_of_each_hit(alternative);
      if (choices.empty()) return {};
      all.insert(all.end(), choices.front().begin(), choices.front().end());
    }
    return {all};
  }
  std::vector<Choice> choices;
  std::string run;
  const auto end_run = [&] {
    if (run.size() >= fewest_letters) choices.push_back({run});
    run.clear();
  };
  const auto may_be_missing = [&](size_t at) { return at < pattern.size() && is_one_of(pattern[at], "?*{"); };
  for (size_t at = 0; at < pattern.size();) {
    const char c = pattern[at];
    if (c == '\\' && at + 1 < pattern.size() && std::isalnum(static_cast<unsigned char>(pattern[at + 1])) == 0) {
      run += pattern[at + 1];
      at += 2;
    } else if (c == '\\') {
      end_run();
      at += 2;
    } else if (c == '[') {
      end_run();
      at = after_class(pattern, at);
    } else if (c == '(') {
      end_run();
      const size_t end = after_group(pattern, at);
      if (!may_be_missing(end))
        for (Choice& choice : words_of_each_hit(pattern.substr(at + 1, end - at - 2)))
          choices.push_back(std::move(choice));
      at = end;
    } else if (may_be_missing(at)) {
      if (!run.empty()) run.pop_back();
      end_run();
      while (c == '{' && at < pattern.size() && pattern[at] != '}') ++at;
      ++at;
    } else if (is_one_of(c, "+.^$")) {
      end_run();
      ++at;
    } else {
      run += c;
      ++at;
    }
  }
  end_run();
  std::stable_sort(choices.begin(), choices.end(),
                   [](const Choice& a, const Choice& b) { return shortest(a) > shortest(b); });
  return choices;
}

MessagePatterns::MessagePatterns() {
  for (const Message& message : messages())
    for (size_t i = 0; i < message.match.size(); ++i) add(message.match[i], {&message, i});
  std::map<std::string, size_t> numbers;
  for (int id = 0; id < size(); ++id) {
    Entry& entry = entries_[static_cast<size_t>(id)];
    std::vector<Choice> choices = words_of_each_hit(entry.pattern);
    choices.resize(std::min(choices.size(), most_choices));
    if (choices.empty()) without_words_.push_back(id);
    for (size_t i = 0; i < choices.size(); ++i) {
      const unsigned bit = 1U << i;
      entry.needed |= bit;
      for (const std::string& words : choices[i]) {
        const auto [place, is_new] = numbers.try_emplace(small_letters(words), of_words_.size());
        if (is_new) {
          of_words_.emplace_back();
          words_.push_back(place->first);
          const uint32_t head = head_of(words_.back().data());
          begun_by_[head].push_back(static_cast<int>(place->second));
          heads_.set(hash_of(head));
        }
        of_words_[place->second].emplace_back(id, bit);
      }
    }
  }
}

void MessagePatterns::add(std::string pattern, const Wanted& wanted) {
  Entry& entry = entries_.emplace_back();
  entry.pattern = std::move(pattern);
  entry.wanted = wanted;
}

std::vector<int> MessagePatterns::words_in(std::string_view text) const {
  const std::string small = small_letters(text);
  std::vector<char> is_found(words_.size());
  std::vector<int> numbers;
  for (size_t at = 0; at + fewest_letters <= small.size(); ++at) {
    const uint32_t head = head_of(small.data() + at);
    if (!heads_.test(hash_of(head))) continue;
    const auto begun = begun_by_.find(head);
    if (begun == begun_by_.end()) continue;
    for (const int number : begun->second) {
      const auto index = static_cast<size_t>(number);
      if (is_found[index] != 0 || small.compare(at, words_[index].size(), words_[index]) != 0) continue;
      is_found[index] = 1;
      numbers.push_back(number);
    }
  }
  std::ranges::sort(numbers);  // if several messages match equally, the first one counts
  return numbers;
}

std::vector<int> MessagePatterns::possible(std::string_view text) const {
  std::vector<int> patterns = without_words_;
  std::vector<unsigned> found(entries_.size());
  for (const int number : words_in(text))
    for (const auto& [id, bit] : of_words_[static_cast<size_t>(number)]) {
      const auto at = static_cast<size_t>(id);
      if ((found[at] & bit) != 0) continue;
      found[at] |= bit;
      if (found[at] == entries_[at].needed) patterns.push_back(id);
    }
  return patterns;
}

const RE2& MessagePatterns::pattern(int id) const {
  const Entry& entry = entries_[static_cast<size_t>(id)];
  std::call_once(entry.once, [&] {
    entry.compiled = std::make_unique<RE2>(entry.pattern, pattern_options());
    if (!entry.compiled->ok()) fail(entry.pattern);
  });
  return *entry.compiled;
}

const MessagePatterns& message_patterns() {
  static const MessagePatterns patterns;
  return patterns;
}

}  // namespace attnprobe::explain
