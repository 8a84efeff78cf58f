// What a text's sentences and reasons come to.
#pragma once

#include <string>
#include <vector>

#include "diagnose/bugs_in_text.hpp"
#include "diagnose/own_words.hpp"
#include "diagnose/refusal.hpp"
#include "diagnose/sentence_finder.hpp"

namespace attnprobe::diagnose {

struct TextAnswer {
  std::vector<Refusal> refusals;     ///< the innermost layer first, there the most telling
  std::vector<std::string> callers;  ///< the programs that handed the call on: "Transformer Engine"
  std::vector<BugInText> bugs;       ///< known ones that it may be about
  OwnWords own_words;                ///< what the writer says of cause and remedy
  std::vector<std::string> told;     ///< what else the text tells, in words: the GPU, the graph, the shape
};
ATTNPROBE_JSON(TextAnswer, refusals, callers, bugs, own_words, told)

/// `skip_log`: what stands in lines of cuDNN's log alone is left out: the log's graphs were rebuilt, and programs get over
/// much that cuDNN logs.
TextAnswer answer_of(const TextFindings& findings, bool skip_log);

}  // namespace attnprobe::diagnose
