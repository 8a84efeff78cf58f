// Putting a text's question to gates, rules and, where one is here, cuDNN: the one place of this module that asks.
#pragma once

#include <optional>
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

/// The GPU that a text names; where it names none an H100.
struct ChosenGpu {
  gpu::Target target;
  bool is_named = false;
};
ChosenGpu gpu_of(const TextFacts& facts);

/// Each question on each target, in order, of the cuDNN that the text names; where it names none of the one that the gates' releases
/// bring, else of one that is here. What no cuDNN here can answer is answered by rule. Throws Error(usage) for what neither can be asked.
std::vector<answer::Answer> put(const std::vector<answer::Question>& questions, const std::vector<gpu::Target>& targets,
                                const TextFacts& facts, const std::vector<rules::ChosenGate>& gates,
                                const AskWith& with);

/// The answer to a text's question.
struct Asked {
  answer::Answer result;
  std::vector<std::string> assumed;  ///< what the text does not tell, in words
  /// Whether the same stands in the way whatever was assumed.
  bool is_established = false;
  std::string depends_on;  ///< what the answer depends on, which the text does not tell: "the head dimension"; ""
  bool is_whole = false;   ///< the text tells shape, type and GPU
  std::vector<rules::KnownBug> bugs;  ///< that may show so: they fit all that is told, and the trouble
  std::vector<std::string> beside;    ///< what refuses a near question: "without the causal mask: …"
  std::string by_rules_of;            ///< what of the framework's release is assumed; ""
  std::string command;                ///< that asks the same again
};

/// A graph that a program wrote and nobody asked about in the text, on these targets.
std::vector<answer::Answer> ask_graph(const replay::Replay& replay, const TextFacts& facts, const AskWith& with);

/// None where the page asks nothing that a config can say.
std::optional<Asked> ask(const ToldQuestion& question, const TextFacts& facts, const AskWith& with);

/// The first question's answer, held against those of the others, which each have another value for what the text does not tell.
/// `differs_in`: in words, for each answer; "" for the first.
Asked weighed(std::vector<answer::Answer> results, const std::vector<std::string>& differs_in, Trouble trouble);

/// Adds what the answer took for granted of the cuDNN, and what gets around a refusal.
void complete(Asked& asked, const TextFacts& facts, const std::vector<rules::ChosenGate>& gates, const AskWith& with);

}  // namespace attnprobe::explain
