// Calls of a framework as questions: each of its graphs, with the keys that its gate is asked with.
#pragma once

#include <string>
#include <vector>

#include "campaign/question.hpp"
#include "frameworks/calls/framework_calls.hpp"

namespace attnprobe::frameworks {

struct CallQuestions {
  std::vector<campaign::Question> questions;
  std::string framework;  ///< a word for rules::choose_gates(): "torch==2.11.0", or "torch" where the calls name none
  std::vector<std::string> notes;  ///< what of the calls is not asked, each naming its call
};

/// `framework`: "torch" or "jax", which is the option's name, too, in the command that asks again.
CallQuestions questions_of(const std::vector<FrameworkCall>& calls, const std::string& framework);

}  // namespace attnprobe::frameworks
