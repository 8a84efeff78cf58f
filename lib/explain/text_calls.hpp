// Answers the calls in a text's source code, such as a bug report with its program.
#pragma once

#include <string_view>
#include <vector>

#include "explain/asking.hpp"
#include "explain/text_answer.hpp"
#include "explain/text_call.hpp"

namespace attnprobe::explain {

struct AnsweredCall {
  TextCall call;
  Asked asked;
};

/// Each graph of each call, at most 4. Uses the gate of the framework release in the text, otherwise of the newest
/// known release. Asks about the GPU and cuDNN in the text, otherwise about an H100 and the cuDNN that the release
/// pins. Leaves out the calls whose answer explains nothing: `besides` has the text's messages.
std::vector<AnsweredCall> answer_calls(std::string_view text, const TextFacts& facts, const TextAnswer& besides,
                                       const AskWith& with);

}  // namespace attnprobe::explain
