// The catalogue of reasons: what cuDNN's short texts mean. Data is in reasons.json, built into the library;
// scripts/docs reasons provokes cuDNN and holds what it says against it.
#pragma once

#include <string>
#include <vector>

#include "answer/category.hpp"
#include "log/log_parse.hpp"

namespace attnprobe::answer {

/// A kind of reason that cuDNN is known to give.
struct KnownReason {
  std::string id;       ///< "shared-memory-of-the-kernel": its anchor in docs/reasons.md
  std::string match;    ///< part of cuDNN's text that tells it
  std::string begins;   ///< what the text begins with, where a part would be in others too
  std::string whole;    ///< the whole text, where its beginning would be in others too
  std::string status;   ///< "" if the text alone tells it
  std::string meaning;  ///< one or two sentences in plain words
  std::string help;     ///< what usually gets around it; "" if nothing does
  std::vector<std::string>
      changes;               ///< the kinds of changes of a config that `help` names: "head_dim"; none for other help
  std::string since, until;  ///< first and last version seen to say it, "9.14.0"; "" where older or newer
                             ///< ones may too
  std::string source;        ///< how it is known
  Category category = Category::unknown;
  int progress = 0;      ///< how far an engine had come when it said this: a root cause is the furthest
  bool wrapper = false;  ///< hands on what an inner call found and says nothing of it: "ptr->isSupported()"
};

/// The first entry that matches; nullptr for a reason that the catalogue does not know.
const KnownReason* find_reason(const log::Reason& reason);

/// Of a traceback, innermost line first: the first line that is more than a wrapper; the innermost where all are
/// wrappers; nullptr where there are no lines.
const log::Reason* decisive_reason(const std::vector<log::Reason>& traceback);

const std::vector<KnownReason>& known_reasons();

/// The category of a status by itself, for a reason that the catalogue does not know.
Category category_of_status(const std::string& status);

}  // namespace attnprobe::answer
