// The answer for a text: who refused and why, with established and possible causes kept apart.
#pragma once

#include <string>
#include <vector>

#include "explain/asking.hpp"
#include "explain/documents.hpp"
#include "explain/message_finder.hpp"
#include "explain/refusal.hpp"

namespace attnprobe::explain {

/// A known bug that fits all facts of a text. A fit does not prove the cause; the bug's experiment can.
struct BugInText {
  std::string id;  ///< rules::KnownBug::id
  std::string what, advice;
  std::string versions;    ///< affected cuDNN versions, in words
  std::string experiment;  ///< options of attnprobe that show the bug; "" if there are none
  std::string why;         ///< the matching facts of the text
  std::string only_if;     ///< "if all scores of a row are below about -88"; "": the bug needs no more than the call
  bool is_strong = false;  ///< the bug affects exactly the attention that the text describes
};
ATTNPROBE_JSON(BugInText, id, what, advice, versions, experiment, why, is_strong)

/// The text author's own explanation; kept for programs that read the JSON.
struct OwnWords {
  std::vector<std::string> why, works;
};
ATTNPROBE_JSON(OwnWords, why, works)

struct TextAnswer {
  std::vector<Refusal> refusals;     ///< innermost layer first, most specific first within a layer
  std::vector<std::string> callers;  ///< the programs between the caller and cuDNN: "Transformer Engine"
  std::vector<BugInText> bugs;       ///< known bugs with these symptoms
  OwnWords own_words;                ///< always empty
  std::vector<std::string> told;     ///< other facts of the text, in words: the GPU, the graph, the shape
  std::string asked;                 ///< the question and who answered: "PyTorch 2.9.1's rules; cuDNN 9.19.0: no"; ""
  std::string command;               ///< the command that repeats the text's question; ""
  std::string missing;               ///< the single fact that would decide; "" if something is established
};
ATTNPROBE_JSON(TextAnswer, refusals, callers, bugs, own_words, told, asked, command, missing)

/// The answer from messages, reasons and facts of the text; asks nothing. `skip_log`: ignores lines that are only in
/// cuDNN's log, because its graphs were rebuilt, and programs recover from many logged errors.
TextAnswer answer_of(const TextFindings& findings, bool skip_log);

/// Asks the text's question, if it has one, and adds the answer to `answer`.
void add_asked(TextAnswer& answer, const TextFindings& findings, const AskWith& with);

/// The same for the questions of a document: adds the first refusal, otherwise the first answer.
void add_asked_document(TextAnswer& answer, const std::vector<DocumentQuestion>& documents, const TextFacts& facts,
                        const AskWith& with);

/// The same for the answer to a call in the source, on that line.
void add_answer(TextAnswer& answer, const TextFacts& facts, const Asked& asked, int64_t line);

/// Who was asked, and the assumptions, in words.
std::string whom_asked(const Asked& asked);

/// Adds cuDNN's answer for a graph in a text without a question.
void add_asked_graph(TextAnswer& answer, const replay::Replay& replay, const TextFacts& facts, const AskWith& with);

/// Whether something is established.
bool is_established(const TextAnswer& answer);

}  // namespace attnprobe::explain
