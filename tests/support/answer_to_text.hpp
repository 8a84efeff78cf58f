// What explain says of a text.
#pragma once

#include <string>

#include "diagnose/sentence_finder.hpp"
#include "diagnose/text_answer.hpp"

namespace attnprobe::test {

inline diagnose::TextAnswer answer_to(const std::string& text) {
  diagnose::SentenceFinder finder;
  finder.feed(text);
  return diagnose::answer_of(finder.finish(), false);
}

/// The same where none of the text's sentences were known: by rule alone.
inline diagnose::TextAnswer answer_by_rule_to(const std::string& text) {
  diagnose::SentenceFinder finder;
  finder.feed(text);
  diagnose::TextFindings findings = finder.finish();
  findings.sentences.clear();
  return diagnose::answer_of(findings, false);
}

}  // namespace attnprobe::test
