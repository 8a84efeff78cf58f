// Known bugs of cuDNN that a text may be about: by GPU, cuDNN, direction, features and what was seen.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "diagnose/text_facts.hpp"

namespace attnprobe::diagnose {

/// A known bug that fits what a text tells. That it is this one is not proved: its experiment shows it.
struct BugInText {
  std::string id;  ///< rules::KnownBug::id
  std::string what, advice;
  std::string versions;    ///< of cuDNN that have it, in words
  std::string experiment;  ///< options of attnprobe that show it; "" where there is none
  std::string why;         ///< what of the text it fits: "nan, backward, the GPU"
  bool is_strong = false;  ///< what was seen is told in its words, and a feature, the direction and the GPU fit
};
ATTNPROBE_JSON(BugInText, id, what, advice, versions, experiment, why, is_strong)

/// The most fitting, at most `most`; none where the text does not name cuDNN, or tells of nothing that a bug does. `text`: as
/// read_words() takes it.
std::vector<BugInText> bugs_in_text(std::string_view text, const TextFacts& facts, size_t most = 3);

}  // namespace attnprobe::diagnose
