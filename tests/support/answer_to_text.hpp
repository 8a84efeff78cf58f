// What explain says of a text.
#pragma once

#include <string>

#include "diagnose/text_answer.hpp"
#include "diagnose/sentence_finder.hpp"

namespace attnprobe::test {

inline diagnose::TextAnswer answer_to(const std::string& text) {
  diagnose::SentenceFinder finder;
  finder.feed(text);
  return diagnose::answer_of(finder.finish(), false);
}

}  // namespace attnprobe::test
