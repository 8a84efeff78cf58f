// One problem in a text: who refused, the possible causes, and the next step.
#pragma once

#include <string>
#include <vector>

#include "answer/category.hpp"
#include "explain/message_finder.hpp"

namespace attnprobe::explain {

/// One problem in a text: its description and place.
struct Refusal : Statement, Place {
  std::vector<std::string> causes;  ///< most likely first
  bool is_cause_known = true;       ///< otherwise the causes are possible ones of the message
  std::string help;                 ///< the usual workaround; "" if there is only `next`
  std::string versions;             ///< releases with this message, in words; "" if unknown
};
ATTNPROBE_JSON(Refusal, id, layer, who, headline, said, line, first_line, times, means, causes, help, next, versions,
               source, kind, in_log, is_cause_known)

/// The headline of a refusal that cuDNN's own reasons show.
std::string headline_of(Layer layer, const std::string& who);

/// The cuDNN versions, GPUs and frameworks ("torch==2.11.0") that a text names.
struct Named {
  std::vector<CudnnVersion> versions;
  std::vector<int> sms;
  std::vector<std::string> frameworks;
};

/// A message with its place in the text. Omits causes that cannot occur with anything that the text names.
Refusal refusal_of(const MessageHit& hit, const Named& named = {});

/// Whether the rule of a gate's message can refuse the values in the message: two rules may share their words.
bool may_be_said(const MessageHit& hit, std::string_view page);

/// A known problem that the page's words match, with the line of the first word.
Refusal refusal_of_report(const Message& report, std::string_view page);

/// A conclusion that no message states, drawn from facts of the text or from the answer to its question.
Refusal reading(const std::string& id, Layer layer, const std::string& who, std::string headline);

/// Whether the page has all of its words.
bool fits(const Message& report, std::string_view page);

}  // namespace attnprobe::explain
