// Puts a text's question to the gates, the rules and, if installed, cuDNN. No other part of this module asks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "answer/answer.hpp"
#include "explain/told_question.hpp"
#include "replay/replay.hpp"

namespace attnprobe::explain {

/// What may be asked.
struct AskWith {
  bool cudnn = true;    ///< an installed cuDNN; otherwise only the rules
  std::string program;  ///< path of attnprobe for worker processes; "": found as in worker/client.hpp
};

/// The GPU that a text names, otherwise an H100.
struct ChosenGpu {
  gpu::Target target;
  bool is_named = false;
  bool is_old = false;  ///< older than every simulated GPU: `target` has only its compute capability, for the rules
};
ChosenGpu gpu_of(const TextFacts& facts);

/// Asks each question on each target, in order. Uses the cuDNN that the text names, else the one that the gates'
/// releases pin, else an installed one. If no installed cuDNN can answer, the rules answer. Throws Error(usage) if
/// neither can be asked.
std::vector<answer::Answer> put(const std::vector<answer::Question>& questions, const std::vector<gpu::Target>& targets,
                                const TextFacts& facts, const std::vector<rules::ChosenGate>& gates,
                                const AskWith& with);

/// By rule, the known cuDNNs 9 that take an attention on a GPU, with the framework's release.
struct FirstCudnn {
  std::string gpu;                    ///< id
  CudnnVersion version;               ///< the first one; unknown: none
  std::string before;                 ///< why the one before it does not; "" if there is none
  std::vector<std::string> excepted;  ///< later ones that do not, or that have a known bug: "9.14.0 to 9.17.1"
  bool has_bug = false;               ///< an earlier one supports it, with a known bug
  bool is_forward_only = false;       ///< the text names no pass, and the backward pass was not asked
};

/// The answer to a text's question.
struct Asked {
  answer::Answer result;
  std::vector<std::string> assumed;  ///< facts missing from the text, in words
  /// Whether all tried assumptions lead to the same obstacle.
  bool is_established = false;
  std::string depends_on;             ///< the missing fact that decides the answer: "the head dimension"; ""
  std::vector<std::string> untold;    ///< facts about shape, type and GPU missing from the text
  rules::GatePlans plans;             ///< the cost of a new shape in the framework; empty if unknown
  std::vector<rules::KnownBug> bugs;  ///< bugs that fit all facts and the symptom
  std::vector<std::string> beside;    ///< refusals for similar questions: "without the causal mask: …"
  bool is_plain = false;              ///< the text tells sizes and types, but no features
  bool is_whole_call = false;         ///< the text has the call itself, as source or as a log
  bool has_cases = false;             ///< the text has values of several cases
  bool is_partial = false;            ///< the text asks about further features, or about unread ones
  std::vector<std::string> unread;    ///< the words for those
  std::vector<std::string> also_on;   ///< the text's other GPUs, if all of them support it
  bool is_release_assumed = false;    ///< the text names no release of its framework
  bool is_selected = false;           ///< the text names the setting that selects cuDNN
  bool is_other_cudnn = false;        ///< the answering version is not the text's, or not the one that its framework
                                      ///< ships
  std::string by_rules_of;            ///< assumptions about the framework's release; ""
  std::vector<FirstCudnn> first;      ///< if the text asks for it, or names no cuDNN for its refusal: on the named GPU,
                                      ///< or on several if there is none
  std::string backward;               ///< why the backward pass is refused, if the text names no pass; ""
  std::string fitting_gpu;            ///< of a need for several GPUs: the one that fits, perhaps with a newer cuDNN; ""
  CudnnVersion lifted_by;             ///< as from lifting_version()
  std::string command;                ///< the command that repeats the question
};

/// Asks about a graph on these targets, for a text without a question.
std::vector<answer::Answer> ask_graph(const replay::Replay& replay, const TextFacts& facts, const AskWith& with);

/// None if a config cannot express the page's question.
std::optional<Asked> ask(const ToldQuestion& question, const TextFacts& facts, const AskWith& with);

/// How a question differs from the first.
struct Variant {
  enum class Of { missing, mask, told } of = Of::missing;
  std::string words;  ///< the missing fact, the mask, or the text's other value: "head_dim_qk 72"
};

/// The first question's answer, compared with variants, which assume other values for missing facts.
Asked weighed(std::vector<answer::Answer> results, const std::vector<Variant>& variants, Trouble trouble);

/// Adds assumptions about the cuDNN, and workarounds for a refusal.
void complete(Asked& asked, const TextFacts& facts, const std::vector<rules::ChosenGate>& gates, const AskWith& with);

}  // namespace attnprobe::explain
