// What a text tells: the graphs of a cuDNN log, the messages by which a program refused, and the answer to its question.
#pragma once

#include <string>
#include <vector>

#include "explain/text_answer.hpp"
#include "explain/text_call.hpp"
#include "replay/replay.hpp"

namespace attnprobe::explain {

struct Explained {
  replay::Replay replay;
  TextAnswer answer;
  std::vector<TextCall> calls;

  /// Whether it says who refused, and why, or what became of a graph.
  bool is_established() const;
};

/// How a text that was typed, and is in no file, is called.
inline constexpr const char* typed_text = "the text";

/// `name`: how messages call the text, "train.log", "-" for standard input; `called`: how the one does that says that it is about no
/// attention. Calls in its source are looked for in its first 4 MB. Throws Error(usage) where nothing at all was read of it, and what
/// reading it throws.
Explained explain(const std::string& name, const std::string& called, const replay::GiveText& give,
                  const AskWith& with = {});

/// A reason of cuDNN's, a rule, a known bug or a message by its id, in words; "" for what is none.
std::string explain_id(const std::string& id);

/// Whether graphs of a log of cuDNN's were rebuilt: they say more of its reasons than the reasons alone.
bool shows_graphs(const replay::Replay& replay);

}  // namespace attnprobe::explain
