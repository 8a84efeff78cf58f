// The config of a text's question, with usual values for what the text does not tell.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "answer/answer.hpp"
#include "explain/told_question.hpp"

namespace attnprobe::explain {

/// A field that every question needs, with a usual value and an alternative.
struct UsualField {
  const char *field, *words;
  Json value, other;
};
const std::vector<UsualField>& usual_fields();

/// The words of the usual pass, for which the text may mean either.
constexpr const char* either_pass = "forward or backward";

/// A value in words: text without quotation marks.
std::string text_of(const Json& value);

/// The question of these config fields, an object in the order of the command's options. Adds the sizes of K and V, and
/// lengths of packed and paged sequences. None if no config can express it.
std::optional<answer::Question> question_of(Json fields, const ToldQuestion& told);

}  // namespace attnprobe::explain
