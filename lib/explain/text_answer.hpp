// What a text comes to: who refused and why, established apart from possible.
#pragma once

#include <string>
#include <vector>

#include "explain/asking.hpp"
#include "explain/documents.hpp"
#include "explain/message_finder.hpp"
#include "explain/refusal.hpp"

namespace attnprobe::explain {

/// A known bug that fits all that a text tells. That it is this one is not proved: its experiment shows it.
struct BugInText {
  std::string id;  ///< rules::KnownBug::id
  std::string what, advice;
  std::string versions;    ///< of cuDNN that have it, in words
  std::string experiment;  ///< options of attnprobe that show it; "" where there is none
  std::string why;         ///< what of the text it fits
  bool is_strong = false;  ///< it concerns the very attention that the text tells of
};
ATTNPROBE_JSON(BugInText, id, what, advice, versions, experiment, why, is_strong)

/// What the writer of a text says; kept for programs that read the JSON.
struct OwnWords {
  std::vector<std::string> why, works;
};
ATTNPROBE_JSON(OwnWords, why, works)

struct TextAnswer {
  std::vector<Refusal> refusals;     ///< the innermost layer first, there the most telling
  std::vector<std::string> callers;  ///< the programs that handed the call on: "Transformer Engine"
  std::vector<BugInText> bugs;       ///< known ones that may show so
  OwnWords own_words;                ///< empty
  std::vector<std::string> told;     ///< what else the text tells, in words: the GPU, the graph, the shape
  std::string asked;                 ///< what was asked, and of whom: "PyTorch 2.9.1's rules; cuDNN 9.19.0: no"; ""
  std::string command;               ///< that asks the text's question again; ""
  std::string missing;               ///< the one fact that would decide; "" where something is established
};
ATTNPROBE_JSON(TextAnswer, refusals, callers, bugs, own_words, told, asked, command, missing)

/// What messages, reasons and facts of the text come to; nothing is asked. `skip_log`: what stands in lines of cuDNN's log alone is left
/// out: the log's graphs were rebuilt, and programs get over much that cuDNN logs.
TextAnswer answer_of(const TextFindings& findings, bool skip_log);

/// Puts the text's question, where it has one, and its answer into `answer`.
void add_asked(TextAnswer& answer, const TextFindings& findings, const AskWith& with);

/// The same of the questions of a document that asks by itself: the first that is refused, else the first.
void add_asked_document(TextAnswer& answer, const std::vector<DocumentQuestion>& documents, const TextFacts& facts,
                        const AskWith& with);

/// The same of an answer to a question that is told on that line: a call of its source.
void add_answer(TextAnswer& answer, const TextFacts& facts, const Asked& asked, int64_t line);

/// Who was asked, and what was assumed, in words.
std::string whom_asked(const Asked& asked);

/// Puts what cuDNN says of a graph that the text holds and nobody asked about into `answer`.
void add_asked_graph(TextAnswer& answer, const replay::Replay& replay, const TextFacts& facts, const AskWith& with);

/// Whether something is established.
bool is_established(const TextAnswer& answer);

}  // namespace attnprobe::explain
