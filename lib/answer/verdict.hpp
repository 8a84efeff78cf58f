// The verdict and the answer for one config on one target with one cuDNN.
#pragma once

#include <cstdint>
#include <string>

#include "answer/outcomes.hpp"
#include "base/enum_names.hpp"
#include "base/json.hpp"

namespace attnprobe::answer {

ATTNPROBE_ENUM(Verdict, supported, unsupported, invalid_graph, error, crashed, timeout, wrong_result)
ATTNPROBE_ENUM(Usable, yes, but, no)
ATTNPROBE_ENUM(ObstacleKind, framework, frontend, known_bug, requirement, outside_heuristics, first_choice_fails)

/// An answer as one word: the answer for the user. For a no that is not a refusal it is cuDNN's verdict; for an open
/// question, the reason. Better words come first.
enum class Word : uint8_t {
  not_asked,
  yes,
  but,
  no,
  invalid_graph,
  error,
  crashed,
  timeout,
  wrong_result,
  environment,
  invalid,  ///< no config has that value (limits)
};

/// Whether the word is yes or but.
constexpr bool is_taken(Word word) {
  return word == Word::yes || word == Word::but;
}

/// How severe an answer is, least severe first. A broken environment says nothing about other answers. A wrong result
/// is worse than a lost worker, and both are worse than an unexpected answer. A config that runs out of memory does not
/// hide other outcomes.
enum class Severity { as_expected, not_as_expected, lacks_memory, lost, wrong_result, environment };
ATTNPROBE_ENUM(Severity, as_expected, not_as_expected, lacks_memory, lost, wrong_result, environment)

struct Obstacle {
  ObstacleKind kind = ObstacleKind::framework;
  std::string text;    ///< without a full stop: it follows "but"
  std::string source;  ///< the evidence
};
ATTNPROBE_JSON(Obstacle, kind, text, source)

}  // namespace attnprobe::answer

namespace attnprobe {
template <>
struct EnumNames<answer::Word> {
  static constexpr std::array<std::pair<answer::Word, std::string_view>, 11> table{{
      {answer::Word::not_asked, "not asked"},
      {answer::Word::yes, "yes"},
      {answer::Word::but, "but"},
      {answer::Word::no, "no"},
      {answer::Word::invalid_graph, "invalid_graph"},
      {answer::Word::error, "error"},
      {answer::Word::crashed, "crashed"},
      {answer::Word::timeout, "timeout"},
      {answer::Word::wrong_result, "wrong_result"},
      {answer::Word::environment, "environment"},
      {answer::Word::invalid, "invalid"},
  }};
};
}  // namespace attnprobe

namespace attnprobe::answer {
ATTNPROBE_JSON_ENUM(Word)
}  // namespace attnprobe::answer
