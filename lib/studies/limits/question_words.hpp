// Parses the words of a command line or a request to a question.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attention/config.hpp"
#include "rules/framework_gates.hpp"
#include "studies/limits/find_limits.hpp"

namespace attnprobe::limits {

struct QuestionWords {
  std::vector<std::string> fields;  ///< one, or two for a map: "head_dim", "head_dim=8:512:8"
  std::vector<std::string> vary;
  std::vector<attention::Override> overrides;       ///< the question, if there are no configs
  std::vector<attention::AttentionConfig> configs;  ///< from files and documents; empty: use the overrides
  Shown shown = Shown::answer;
  bool times = false;                           ///< see Question::times
  std::vector<rules::ChosenGate> frameworks{};  ///< their releases say which cudnn-frontend builds the configs
  /// Makes configs of the overrides and the filled-in fields; empty: attention::configs_from_options().
  std::function<std::vector<attention::AttentionConfig>(const std::vector<attention::Override>&)> read{};
  std::string fields_place = "limits", vary_place = "--vary", by_place = "--by";  ///< their names in messages
};

/// The question without targets and cudnns. A varied field need not be given. Missing heads, seqlen and head_dim are
/// assumed: Question::assumed lists them, and `words.overrides` get them, for a command that repeats the question. A
/// map's axes are coarse unless their numbers were named. Throws Error(usage) naming the place and what is allowed.
Question read_question(QuestionWords& words);

/// Where a question is asked, as words.
struct PlaceWords {
  std::vector<std::string> files;  ///< of configs
  std::string target, cudnn, frameworks;
};

/// "attnprobe limits head_dim --heads 8 --target h100": repeats the question that read_question() made of the words.
std::string command_text(const QuestionWords& words, const PlaceWords& place);

}  // namespace attnprobe::limits
