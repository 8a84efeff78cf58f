// explain's answer for a text.
#pragma once

#include <string>

#include "explain/text_answer.hpp"

namespace attnprobe::test {

/// A text's facts, with those of the whole page.
inline explain::TextFacts facts_of(const std::string& text) {
  explain::TextFacts facts;
  explain::add_facts(facts, text, 1);
  explain::add_facts_of_page(facts, text);
  return facts;
}

/// Uses only its messages and facts; asks nothing.
inline explain::TextAnswer answer_to(const std::string& text) {
  explain::MessageFinder finder;
  finder.feed(text);
  return explain::answer_of(finder.finish(), false);
}

/// The id of its first refusal; throws if there is none.
inline std::string first_refusal_of(const std::string& text) {
  return answer_to(text).refusals.at(0).id;
}

/// As answer_to(), with its question answered by the rules.
inline explain::TextAnswer asked_answer_to(const std::string& text) {
  explain::MessageFinder finder;
  finder.feed(text);
  const explain::TextFindings findings = finder.finish();
  explain::TextAnswer answer = explain::answer_of(findings, false);
  explain::add_asked(answer, findings, {false, ""});
  return answer;
}

/// A report and the id of the answer to it.
struct Row {
  const char *text, *id;
};

/// The id of the first refusal of asked_answer_to(); "" if nothing is established.
inline std::string id_for(const std::string& text) {
  const explain::TextAnswer answer = asked_answer_to(text);
  return answer.refusals.empty() ? "" : answer.refusals.front().id;
}

}  // namespace attnprobe::test
