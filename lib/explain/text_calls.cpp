#include "explain/text_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/number.hpp"
#include "explain/text_answer.hpp"
#include "frameworks/calls/call_questions.hpp"
#include "frameworks/calls/framework_calls.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::explain {
namespace {

using frameworks::Caller;
using frameworks::CallQuestions;
using frameworks::FrameworkCall;

constexpr size_t most_answers = 4;

// The gate of the release that the calls or the text name; of the newest if that release is unknown.
rules::ChosenGate gate_for(const std::string& framework, const std::string& with_release) {
  try {
    return rules::choose_gates({with_release}, "the text").front();
  } catch (const Error&) {
    return rules::choose_gates({framework}, "the text").front();
  }
}

TextCall answer_of(const answer::Answer& result, const FrameworkCall& call, bool target_is_named) {
  TextCall answer;
  answer.line = parse_number<int64_t>(call.origin.pointer).value_or(0);
  answer.call = attention::describe(result.config.spec);
  answer.read_as = call.notes;
  answer.target = result.target.id;
  answer.target_is_named = target_is_named;
  answer.cudnn = result.cudnn_version.text();
  if (!result.frameworks.empty()) {
    const rules::GateAnswer& gate = result.frameworks.front();
    answer.says = gate.text;
    if (call.release.empty()) answer.says += " (the newest release that was read: the text names none)";
    answer.is_taken = gate.takes == rules::Takes::yes || gate.takes == rules::Takes::by_name;
    answer.source = gate.source.text;
    if (!gate.refusals.empty()) answer.change = gate.refusals.front().change;
    if (answer.change.empty() && gate.takes == rules::Takes::by_name) answer.change = gate.by_name;
  }
  for (const auto& requirement : result.requirements) answer.needs.push_back(requirement.text);
  for (const auto& bug : result.warnings) answer.bugs.push_back(fmt::format("{} {}", bug.what, bug.advice));
  answer.asked = call.given;
  return answer;
}

}  // namespace

std::vector<AnsweredCall> answer_calls(std::string_view text, const TextFacts& facts, const AskWith& with) {
  std::vector<AnsweredCall> answers;
  for (const Caller caller : {Caller::torch, Caller::jax}) try {
      const std::string framework(name_of(caller));
      for (const FrameworkCall& call : frameworks::calls_in_source({caller}, text, "text")) {
        const ChosenGpu gpu = gpu_of(facts);
        const CallQuestions questions = frameworks::questions_of({call}, caller);
        const std::vector<rules::ChosenGate> gates = {gate_for(framework, questions.framework)};
        for (auto& result : put(questions.questions, {gpu.target}, facts, gates, with)) {
          if (answers.size() == most_answers) return answers;
          AnsweredCall answer{answer_of(result, call, gpu.is_named), weighed({std::move(result)}, {""}, facts.trouble)};
          answer.asked.assumed = call.notes;
          answer.asked.is_whole = call.notes.empty() && gpu.is_named;
          complete(answer.asked, facts, gates, with);
          answer.call.framework = framework;
          answer.call.answered = whom_asked(answer.asked);
          answers.push_back(std::move(answer));
        }
      }
    } catch (const Error&) {  // the framework itself refuses the call, or the call is incomplete
    }
  return answers;
}

}  // namespace attnprobe::explain
