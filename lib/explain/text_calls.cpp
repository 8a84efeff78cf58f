#include "explain/text_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "frameworks/calls/call_questions.hpp"
#include "frameworks/calls/framework_calls.hpp"
#include "gpu/catalogue.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::explain {
namespace {

using frameworks::Caller;
using frameworks::CallQuestions;
using frameworks::FrameworkCall;

constexpr size_t most_answers = 4;
constexpr const char* gpu_where_none = "h100";
constexpr CudnnVersion usual_cudnn{9, 19, 0};

// The gate of the release that the calls or the text name; of the newest where that one was not read.
rules::ChosenGate gate_for(const std::string& framework, const std::string& with_release) {
  try {
    return rules::choose_gates({with_release}, "the text").front();
  } catch (const Error&) {
    return rules::choose_gates({framework}, "the text").front();
  }
}

const gpu::Target& target_for(const TextFacts& facts, bool& is_named) {
  is_named = true;
  if (const gpu::Target* target = gpu::find(facts.target())) return *target;
  const auto sms = facts.all_sms();
  for (const auto& target : gpu::catalogue())
    if (!sms.empty() && target.sm == sms.front()) return target;
  is_named = false;
  return *gpu::find(gpu_where_none);
}

// "9.10.2.21", ">=9.12.0.46": the three numbers in it.
std::optional<CudnnVersion> version_in(std::string pinned) {
  pinned.erase(0, std::min(pinned.find_first_of("0123456789"), pinned.size()));
  for (; !pinned.empty(); pinned.erase(std::min(pinned.rfind('.'), pinned.size()))) {
    if (const auto version = CudnnVersion::parse(pinned)) return version;
    if (pinned.find('.') == std::string::npos) break;
  }
  return std::nullopt;
}

CudnnVersion cudnn_for(const TextFacts& facts, const rules::ChosenGate& gate) {
  if (facts.versions.size() == 1)
    if (const auto version = CudnnVersion::parse(facts.versions.front())) return *version;
  if (gate.release != nullptr)
    if (const auto version = version_in(gate.release->cudnn)) return *version;
  return usual_cudnn;
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

std::vector<TextCall> answer_calls(std::string_view text, const TextFacts& facts, const AskWith& with) {
  std::vector<TextCall> answers;
  bool target_is_named = false;
  const gpu::Target& target = target_for(facts, target_is_named);
  for (const Caller caller : {Caller::torch, Caller::jax}) try {
      const std::string framework(name_of(caller));
      for (const FrameworkCall& call : frameworks::calls_in_source({caller}, text, "text")) {
        const CallQuestions asked = frameworks::questions_of({call}, caller);
        const rules::ChosenGate gate = gate_for(framework, asked.framework);
        for (const auto& result :
             put(asked.questions, {target}, cudnn_for(facts, gate).text(), {gate}, {false, with.program})) {
          if (answers.size() == most_answers) return answers;
          answers.push_back(answer_of(result, call, target_is_named));
          answers.back().framework = framework;
        }
      }
    } catch (const Error&) {  // a call that the framework itself refuses, or that is not whole
    }
  return answers;
}

}  // namespace attnprobe::explain
