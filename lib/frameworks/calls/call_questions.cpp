#include "frameworks/calls/call_questions.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace attnprobe::frameworks {

std::string release_named(const std::vector<std::string>& words, Caller caller, const std::string& option) {
  std::vector<std::string> releases;
  for (const auto& chosen : rules::choose_gates(words, option))
    if (chosen.gate->framework == name_of(caller))
      releases.push_back(!chosen.asked.empty() ? chosen.asked : chosen.release->version);
  return releases.size() == 1 ? releases.front() : "";
}

CallQuestions questions_of(const std::vector<FrameworkCall>& calls, Caller caller) {
  const std::string framework(name_of(caller));
  CallQuestions asked;
  asked.framework = framework;
  bool has_one_release = true;
  for (const auto& call : calls) {
    has_one_release = has_one_release && call.release == calls.front().release;
    for (const auto& note : call.notes) asked.notes.push_back(fmt::format("{}: {}", call.name, note));
    for (const auto& spec : call.graphs) {
      answer::Question question;
      question.config = {spec, call.origin};
      question.call = call.keys;
      question.command = fmt::format("attnprobe --{} {}", framework, shell_word(json_text(call.given)));
      asked.questions.push_back(std::move(question));
    }
  }
  if (!has_one_release)
    asked.notes.push_back(fmt::format(
        "--{}: the calls come from several releases; the newest known one answers. Name another with --framework",
        framework));
  else if (!calls.empty() && !calls.front().release.empty())
    asked.framework += "==" + calls.front().release;
  return asked;
}

}  // namespace attnprobe::frameworks
