// explain's answer for a text.
#pragma once

#include <string>

#include "explain/text_answer.hpp"

namespace attnprobe::test {

/// Uses only its messages and facts; asks nothing.
inline explain::TextAnswer answer_to(const std::string& text) {
  explain::MessageFinder finder;
  finder.feed(text);
  return explain::answer_of(finder.finish(), false);
}

/// The same, with its question answered by the rules.
inline explain::TextAnswer asked_answer_to(const std::string& text) {
  explain::MessageFinder finder;
  finder.feed(text);
  const explain::TextFindings findings = finder.finish();
  explain::TextAnswer answer = explain::answer_of(findings, false);
  explain::add_asked(answer, findings, {false, ""});
  return answer;
}

}  // namespace attnprobe::test
