// The catalogue of reasons: what cuDNN's short texts mean. Data is in reasons.json, built into the library.
#pragma once

#include <string>
#include <vector>

#include "attnprobe/cudnn/log_parse.hpp"

namespace attnprobe::diagnose {

/// A kind of reason that cuDNN is known to give.
struct KnownReason {
  std::string category;  ///< "shared_memory", "architecture", "graph_pattern", "shape", …
  std::string match;     ///< part of cuDNN's text that tells it
  std::string status;    ///< "" if the text alone tells it
  std::string meaning;   ///< one or two sentences in plain words
  std::string help;      ///< what usually gets around it; "" if nothing does
  int progress = 0;      ///< how far an engine had come when it said this: a root cause is the furthest
};

/// The first entry that matches; nullptr for a reason that the catalogue does not know.
const KnownReason* find_reason(const cudnn::Reason& reason);

const std::vector<KnownReason>& known_reasons();

/// The category of a status by itself, for a reason that the catalogue does not know.
std::string category_of_status(const std::string& status);

}  // namespace attnprobe::diagnose
