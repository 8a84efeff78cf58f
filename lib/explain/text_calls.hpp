// Answers the calls in a text's source, for a bug report that includes its program.
#pragma once

#include <string_view>
#include <vector>

#include "explain/asking.hpp"
#include "explain/text_call.hpp"

namespace attnprobe::explain {

struct AnsweredCall {
  TextCall call;
  Asked asked;
};

/// Each graph of each call, at most 4. The gate is that of the framework release in the text, else of the newest known.
/// cuDNN answers for the GPU and cuDNN in the text, else for an H100 and the cuDNN that the release pins.
std::vector<AnsweredCall> answer_calls(std::string_view text, const TextFacts& facts, const AskWith& with);

}  // namespace attnprobe::explain
