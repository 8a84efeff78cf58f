// Calls of a framework as questions: each of its graphs, with the keys that its gate is asked with.
#pragma once

#include <string>
#include <vector>

#include "answer/question.hpp"
#include "frameworks/calls/framework_calls.hpp"

namespace attnprobe::frameworks {

struct CallQuestions {
  std::vector<answer::Question> questions;
  std::string framework;  ///< a word for rules::choose_gates(): "torch==2.11.0", or "torch" where the calls name none
  std::vector<std::string> notes;  ///< what of the calls is not asked, each naming its call
};

/// The release of the caller's framework that words of --framework name (rules::choose_gates), whose graphs its calls build; "" where
/// they name none, or several. Throws as choose_gates() does.
std::string release_named(const std::vector<std::string>& words, Caller caller, const std::string& option);

CallQuestions questions_of(const std::vector<FrameworkCall>& calls, Caller caller);

}  // namespace attnprobe::frameworks
