// Explains a text: the graphs of a cuDNN log, a program's refusal messages, and the answer to the text's question.
#pragma once

#include <string>
#include <vector>

#include "explain/text_answer.hpp"
#include "explain/text_call.hpp"
#include "replay/replay.hpp"

namespace attnprobe::explain {

struct Explained {
  bool is_of_cudnn = false;      ///< the text names cuDNN
  bool is_of_attention = false;  ///< the text names attention or cuDNN, or a known message
  replay::Replay replay;
  TextAnswer answer;
  std::vector<TextCall> calls;
  bool calls_answer = false;  ///< a call is refused or warned of, or the text only asks

  /// Whether it explains who refused and why, or the outcome of a graph.
  bool is_established() const;
};

/// The name for typed text, which has no file.
inline constexpr const char* typed_text = "the text";

/// `name`: the text's name in messages, "train.log", "-" for standard input. `called`: its name in the message "not
/// about attention". Searches the first 4 MB for calls in source. Throws Error(usage) for typed text that does not name
/// attention, and the errors of reading it.
Explained explain(const std::string& name, const std::string& called, const replay::GiveText& give,
                  const AskWith& with = {});

/// Whether it is the id of a cuDNN reason, a rule, a known bug or a message.
bool is_id(const std::string& id);

/// Describes what the id stands for, in lines of at most `width`; "" for an unknown id.
std::string explain_id(const std::string& id, size_t width);

/// Whether graphs of a cuDNN log were rebuilt, which show more than the log's reasons.
bool shows_graphs(const replay::Replay& replay);

}  // namespace attnprobe::explain
