// The answer for a text: who refused and why, with established and possible causes kept apart.
#pragma once

#include <string>
#include <vector>

#include "explain/asking.hpp"
#include "explain/documents.hpp"
#include "explain/message_finder.hpp"
#include "explain/refusal.hpp"

namespace attnprobe::explain {

/// A known bug that fits all facts of a text. This does not prove that it is the cause; its experiment can.
struct BugInText {
  std::string id;  ///< rules::KnownBug::id
  std::string what, advice;
  std::string versions;    ///< affected cuDNN versions, in words
  std::string experiment;  ///< options of attnprobe that show it; "" if there are none
  std::string why;         ///< the facts of the text that it fits
  bool is_strong = false;  ///< it affects exactly the attention that the text describes
};
ATTNPROBE_JSON(BugInText, id, what, advice, versions, experiment, why, is_strong)

/// The text author's own explanation; kept for programs that read the JSON.
struct OwnWords {
  std::vector<std::string> why, works;
};
ATTNPROBE_JSON(OwnWords, why, works)

struct TextAnswer {
  std::vector<Refusal> refusals;     ///< innermost layer first, most specific first within a layer
  std::vector<std::string> callers;  ///< the programs that passed the call on: "Transformer Engine"
  std::vector<BugInText> bugs;       ///< known bugs with these symptoms
  OwnWords own_words;                ///< always empty
  std::vector<std::string> told;     ///< other facts of the text, in words: the GPU, the graph, the shape
  std::string asked;                 ///< the question and who answered: "PyTorch 2.9.1's rules; cuDNN 9.19.0: no"; ""
  std::string command;               ///< that repeats the text's question; ""
  std::string missing;               ///< the one fact that would decide; "" if something is established
};
ATTNPROBE_JSON(TextAnswer, refusals, callers, bugs, own_words, told, asked, command, missing)

/// The answer from messages, reasons and facts of the text; asks nothing. `skip_log`: ignores lines that are only in
/// cuDNN's log. Its graphs were rebuilt, and programs recover from much that cuDNN logs.
TextAnswer answer_of(const TextFindings& findings, bool skip_log);

/// Asks the text's question, if it has one, and adds the answer to `answer`.
void add_asked(TextAnswer& answer, const TextFindings& findings, const AskWith& with);

/// The same for the questions of a document: adds the first that is refused, else the first.
void add_asked_document(TextAnswer& answer, const std::vector<DocumentQuestion>& documents, const TextFacts& facts,
                        const AskWith& with);

/// The same for the answer to a question on that line: a call in its source.
void add_answer(TextAnswer& answer, const TextFacts& facts, const Asked& asked, int64_t line);

/// Who was asked, and the assumptions, in words.
std::string whom_asked(const Asked& asked);

/// Adds cuDNN's answer for a graph in a text without a question.
void add_asked_graph(TextAnswer& answer, const replay::Replay& replay, const TextFacts& facts, const AskWith& with);

/// Whether something is established.
bool is_established(const TextAnswer& answer);

}  // namespace attnprobe::explain
