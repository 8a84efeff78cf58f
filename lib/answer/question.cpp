#include "answer/question.hpp"

namespace attnprobe::answer {

void adopt_frontend(attention::AttentionSpec& spec, const std::vector<rules::ChosenGate>& frameworks) {
  using attention::Pattern;
  if (spec.frontend || spec.pattern == Pattern::mha || spec.pattern == Pattern::two_matmul) return;
  spec.frontend = rules::frontend_of(frameworks);
}

void adopt_frontend(std::vector<Question>& questions, const std::vector<rules::ChosenGate>& frameworks) {
  if (!rules::frontend_of(frameworks)) return;
  for (Question& question : questions)
    if (!question.given) adopt_frontend(question.config.spec, frameworks);
}

}  // namespace attnprobe::answer
