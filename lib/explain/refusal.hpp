// One problem that a text shows: who refused, why most likely, and the one thing to do next.
#pragma once

#include <string>
#include <vector>

#include "answer/category.hpp"
#include "explain/message_finder.hpp"

namespace attnprobe::explain {

/// One problem that a text shows.
struct Refusal {
  std::string id;  ///< of the sentence, or of the reason
  Layer layer = Layer::framework;
  std::string who;       ///< whose words they are
  std::string headline;  ///< "PyTorch's gate refused, before cuDNN was asked"
  std::string said;      ///< the words that tell it, as they stand in the text
  std::string line;      ///< around them
  int64_t first_line = 0;
  int64_t times = 0;
  std::string means;                ///< in plain words
  std::vector<std::string> causes;  ///< the likeliest first
  std::string help;                 ///< what usually gets around it; "" where only `next` helps
  std::string next;                 ///< the one thing to do
  std::string versions;             ///< releases that have the sentence, in words; "" where they are not known
  std::string source;               ///< how it is known
  MessageKind kind = MessageKind::refusal;
  bool in_log = false;   ///< it stands in lines of cuDNN's log alone
  bool says_why = true;  ///< else `causes` are possible ones, and an answer to the call tells which; not in the JSON
};
ATTNPROBE_JSON(Refusal, id, layer, who, headline, said, line, first_line, times, means, causes, help, next, versions,
               source, kind, in_log)

/// The layer of a reason of cuDNN's.
Layer layer_of(answer::Category category);

/// The headline of a refusal that cuDNN's own reasons show.
std::string headline_of(Layer layer, const std::string& who);

/// A message of the catalogue, or a reason of cuDNN's, with its place in the text.
Refusal refusal_of(const MessageHit& hit);
Refusal refusal_of(const ReasonHit& hit);

/// A known trouble that the page's words fit, with the line of the first of them.
Refusal refusal_of(const Report& report, std::string_view page);

/// What no message says: facts of the text, or the answer to its question.
Refusal reading(const std::string& id, Layer layer, const std::string& who, std::string headline);

/// Whether all of its words stand in the page.
bool fits(const Report& report, std::string_view page);

}  // namespace attnprobe::explain
