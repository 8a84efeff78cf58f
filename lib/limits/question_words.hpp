// The words of a command line or a request, and the question that they make.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attention/config.hpp"
#include "limits/find_limits.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::limits {

struct QuestionWords {
  std::vector<std::string> fields;  ///< one, or two for a map: "head_dim", "head_dim=8:512:8"
  std::vector<std::string> vary;
  std::vector<attention::Override> overrides;       ///< what is asked, where there are no configs
  std::vector<attention::AttentionConfig> configs;  ///< of files and documents; empty: the overrides say it
  Shown shown = Shown::answer;
  bool times = false;                           ///< see Question::times
  std::vector<rules::ChosenGate> frameworks{};  ///< whose releases say which cudnn-frontend builds the configs
  /// Makes configs of the overrides and what is filled in; empty: attention::configs_from_options().
  std::function<std::vector<attention::AttentionConfig>(const std::vector<attention::Override>&)> read{};
  std::string fields_place = "limits", vary_place = "--vary", by_place = "--by";  ///< how messages name them
};

/// All of the question but targets and cudnns. A field that is varied need not be given; of heads, seqlen and head_dim
/// what nobody gave is assumed: Question::assumed says it, and `words.overrides` get it, for a command that asks again. A
/// map's axes are made coarse where nobody named their numbers. Throws Error(usage) naming the place and what is allowed.
Question read_question(QuestionWords& words);

/// Where a question is asked, as words.
struct PlaceWords {
  std::vector<std::string> files;  ///< of configs
  std::string target, cudnn, frameworks;
};

/// "attnprobe limits head_dim --heads 8 --target h100": asks the question that read_question() made of the words again.
std::string command_text(const QuestionWords& words, const PlaceWords& place);

}  // namespace attnprobe::limits
