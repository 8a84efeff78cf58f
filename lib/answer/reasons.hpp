// The catalogue of reasons: the meaning of cuDNN's short texts. The data is in reasons.json, built into the library;
// `scripts/docs reasons` provokes each text from cuDNN and compares it with the catalogue.
#pragma once

#include <string>
#include <vector>

#include "answer/category.hpp"
#include "log/log_parse.hpp"

namespace attnprobe::answer {

/// A known kind of cuDNN reason.
struct KnownReason {
  std::string id;                    ///< "shared-memory-of-the-kernel": its anchor in the site's reasons.html
  std::string match;                 ///< a part of cuDNN's text that identifies it
  std::string begins;                ///< the start of the text, if a part of it would match other texts too
  std::string whole;                 ///< the whole text, if its start would match other texts too
  std::string status;                ///< "" if the text explains itself
  std::string meaning;               ///< one or two sentences in plain words
  std::string help;                  ///< the usual workaround; "" if there is none
  std::vector<std::string> changes;  ///< the kinds of changes that `help` names: "head_dim"; empty for other help
  std::string since, until;  ///< first and last version seen with it, "9.14.0"; "" if older or newer versions may have
                             ///< it too
  std::string source;        ///< the evidence
  Category category = Category::unknown;
  int progress = 0;      ///< how far the engine got before this reason; the reason of the furthest engine is the root
                         ///< cause
  bool wrapper = false;  ///< reports that an inner call failed, but not why: "ptr->isSupported()"
};

/// The first matching entry; nullptr if the catalogue lacks the reason.
const KnownReason* find_reason(const log::Reason& reason);

/// The first line of a traceback, innermost first, that is not only a wrapper; the innermost line if all are wrappers;
/// nullptr without lines.
const log::Reason* decisive_reason(const std::vector<log::Reason>& traceback);

const std::vector<KnownReason>& known_reasons();

/// The category of a status, for a reason that the catalogue lacks.
Category category_of_status(const std::string& status);

}  // namespace attnprobe::answer
