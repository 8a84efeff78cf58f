// The calls that the source in a text makes, answered: for a report of a problem that has its program with it.
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

/// Each graph of each call, by the gate of the framework's release that the text names (else the newest that was read) and by cuDNN, for the
/// GPU and the cuDNN that it names (else an H100, and the cuDNN that the release brings); at most 4.
std::vector<AnsweredCall> answer_calls(std::string_view text, const TextFacts& facts, const AskWith& with);

}  // namespace attnprobe::explain
