// Putting a text's question to gates, rules and, where one is here, cuDNN: the one place of this module that asks.
#pragma once

#include <string>
#include <vector>

#include "answer/answer.hpp"
#include "explain/told_question.hpp"
#include "replay/replay.hpp"

namespace attnprobe::explain {

/// What is asked with.
struct AskWith {
  bool cudnn = true;    ///< a cuDNN that is here; else the rules alone
  std::string program;  ///< attnprobe, of which workers are processes; "": found as worker/client.hpp says
};

/// Each question on each target, in order. `version` is a word for a cuDNN; "": the one of the gates' releases, else one that is here.
/// What no cuDNN here can answer is answered by rule. Throws Error(usage) for what neither can be asked.
std::vector<answer::Answer> put(const std::vector<answer::Question>& questions, const std::vector<gpu::Target>& targets,
                                const std::string& version, const std::vector<rules::ChosenGate>& gates,
                                const AskWith& with);

/// The answer to a text's question.
struct Asked {
  answer::Answer result;
  std::vector<std::string> assumed;  ///< what the text does not tell, in words
  /// Whether the same stands in the way whatever was assumed.
  bool is_established = false;
  std::string depends_on;             ///< else what the answer depends on: "the head dimension"; ""
  std::vector<rules::KnownBug> bugs;  ///< that may show so: they fit all that is told, and the trouble
  std::vector<std::string> beside;    ///< what refuses a near question: "without the causal mask: …"
  std::string by_rules_of;            ///< what of the framework's release is assumed; ""
  std::string command;                ///< that asks the same again
};

/// A graph that a program wrote and nobody asked about in the text, on these targets.
std::vector<answer::Answer> ask_graph(const replay::Replay& replay, const TextFacts& facts, const AskWith& with);

/// Empty where the page asks nothing that a config can say.
std::vector<Asked> ask(const ToldQuestion& question, const TextFacts& facts, const AskWith& with);

}  // namespace attnprobe::explain
