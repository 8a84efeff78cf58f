// What a text tells: the graphs of a cuDNN log, and the sentences by which somebody refused.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/text_answer.hpp"
#include "replay/replay.hpp"
#include "report/model/text_call.hpp"

namespace attnprobe::report {

struct Explained {
  replay::Replay replay;
  diagnose::TextAnswer answer;
  std::vector<TextCall> calls;
};

/// How a text that was typed, and is in no file, is called.
inline constexpr const char* typed_text = "the text";

/// What rules say of the calls that the source in a text makes (frameworks/calls/text_calls.hpp).
using FindCalls = std::function<std::vector<TextCall>(std::string_view text)>;

/// `name`: how messages call the text, "train.log", "-" for standard input; `called`: how the one does that says that
/// nothing in it is known. `find_calls` is given its first 4 MB. Throws that one as Error(usage), and what reading the text throws.
Explained explain(const std::string& name, const std::string& called, const replay::GiveText& give,
                  const FindCalls& find_calls);

/// Whether graphs of a log of cuDNN's were rebuilt: they say more of its reasons than the reasons alone.
bool shows_graphs(const replay::Replay& replay);

}  // namespace attnprobe::report
