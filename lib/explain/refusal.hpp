// One problem in a text: who refused, the most likely reason, and the one thing to do next.
#pragma once

#include <string>
#include <vector>

#include "answer/category.hpp"
#include "explain/message_finder.hpp"

namespace attnprobe::explain {

/// One problem in a text.
struct Refusal {
  std::string id;  ///< of the sentence or the reason
  Layer layer = Layer::framework;
  std::string who;       ///< the author of the message
  std::string headline;  ///< "PyTorch's gate refused, before cuDNN was asked"
  std::string said;      ///< the matched words, as in the text
  std::string line;      ///< around them
  int64_t first_line = 0;
  int64_t times = 0;
  std::string means;                ///< in plain words
  std::vector<std::string> causes;  ///< most likely first
  std::string help;                 ///< the usual workaround; "" if only `next` applies
  std::string next;                 ///< the one thing to do
  std::string versions;             ///< releases with this sentence, in words; "" if unknown
  std::string source;               ///< the evidence
  MessageKind kind = MessageKind::refusal;
  bool in_log = false;   ///< only in lines of cuDNN's log
  bool says_why = true;  ///< else `causes` are only possible, and an answer to the call decides; not in the JSON
};
ATTNPROBE_JSON(Refusal, id, layer, who, headline, said, line, first_line, times, means, causes, help, next, versions,
               source, kind, in_log)

/// The layer of a cuDNN reason.
Layer layer_of(answer::Category category);

/// The headline of a refusal that cuDNN's own reasons show.
std::string headline_of(Layer layer, const std::string& who);

/// A message of the catalogue, or a cuDNN reason, with its place in the text. Leaves out the causes that none of the
/// cuDNN `versions` can have.
Refusal refusal_of(const MessageHit& hit, const std::vector<CudnnVersion>& versions = {});
Refusal refusal_of(const ReasonHit& hit);

/// A known problem that the page's words match, with the line of the first word.
Refusal refusal_of(const Report& report, std::string_view page);

/// A conclusion that no message states: from facts of the text, or from the answer to its question.
Refusal reading(const std::string& id, Layer layer, const std::string& who, std::string headline);

/// Whether the page has all of its words.
bool fits(const Report& report, std::string_view page);

}  // namespace attnprobe::explain
