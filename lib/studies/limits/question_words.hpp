// Converts the words of a command line or a request to a question.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attention/config.hpp"
#include "rules/framework_gates.hpp"
#include "studies/limits/find_limits.hpp"

namespace attnprobe::limits {

struct QuestionWords {
  std::vector<std::string> fields;  ///< one field, or two for a map: "head_dim", "head_dim=8:512:8"
  std::vector<std::string> vary;
  std::vector<attention::Override> overrides;       ///< the question, if there are no configs
  std::vector<attention::AttentionConfig> configs;  ///< from files and documents; empty: use the overrides
  Shown shown = Shown::answer;
  bool times = false;                           ///< see Question::times
  std::vector<rules::ChosenGate> frameworks{};  ///< frameworks; their releases determine which cudnn-frontend builds
                                                ///< the configs
  /// Builds configs from the overrides and the filled-in fields; empty: attention::configs_from_options().
  std::function<std::vector<attention::AttentionConfig>(const std::vector<attention::Override>&)> read{};
  std::string fields_place = "limits", vary_place = "--vary", by_place = "--by";  ///< names of these options in
                                                                                  ///< messages
};

/// The question without targets and cudnns. Varied fields may be missing. Missing heads, seqlen and head_dim are
/// assumed, listed in Question::assumed, and added to `words.overrides` for the command that repeats the question. A
/// map's axes are coarse unless their values were given. Throws Error(usage) naming the place and what is allowed.
Question read_question(QuestionWords& words);

/// Targets and cuDNNs of a question, as words.
struct PlaceWords {
  std::vector<std::string> files;  ///< files of configs
  std::string target, cudnn, frameworks;
};

/// "attnprobe limits head_dim --heads 8 --target h100": repeats the question that read_question() built from the words.
std::string command_text(const QuestionWords& words, const PlaceWords& place);

}  // namespace attnprobe::limits
