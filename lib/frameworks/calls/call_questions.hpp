// Converts a framework's calls to questions, one per graph, with the keys for the framework's gate.
#pragma once

#include <string>
#include <vector>

#include "answer/question.hpp"
#include "frameworks/calls/framework_calls.hpp"

namespace attnprobe::frameworks {

struct CallQuestions {
  std::vector<answer::Question> questions;
  std::string framework;  ///< for rules::choose_gates(): "torch==2.11.0", or "torch" if the calls name no release
  std::vector<std::string> notes;  ///< ignored parts of the calls, each with its call
};

/// The release of the caller's framework that the words of --framework name (rules::choose_gates); graphs are built as
/// in that release. "" if the words name none or several. Throws like choose_gates().
std::string release_named(const std::vector<std::string>& words, Caller caller, const std::string& option);

CallQuestions questions_of(const std::vector<FrameworkCall>& calls, Caller caller);

}  // namespace attnprobe::frameworks
