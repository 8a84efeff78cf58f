#include "explain/text_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ask/by_rule.hpp"
#include "base/error.hpp"
#include "base/number.hpp"
#include "explain/asking_cudnn.hpp"
#include "explain/words.hpp"
#include "frameworks/calls/call_questions.hpp"
#include "frameworks/calls/framework_calls.hpp"
#include "frameworks/calls/named_releases.hpp"
#include "frameworks/transformer_engine/calls.hpp"
#include "gpu/catalogue.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::explain {
namespace {

using frameworks::Caller;

constexpr size_t most_answers = 4;

// A call of any framework, ready to be asked.
struct ReadCall {
  std::string option;   // the option that reads the same call
  std::string release;  // "torch==2.9.1"; without a release if the text names none
  int64_t line = 0;
  std::vector<std::string> notes;
  Json given;
  std::vector<answer::Question> questions;
};

// The gate of the release that the calls or the text name; if unknown, of the newest release.
rules::ChosenGate gate_for(const std::string& release) try {
  return rules::choose_gates({release}, "the text").front();
} catch (const Error&) {
  return rules::choose_gates({release.substr(0, release.find("=="))}, "the text").front();
}

int64_t line_of(const attention::Origin& origin) {
  return parse_number<int64_t>(origin.pointer).value_or(0);
}

// Whether a program's tensors can be on a GPU: without a device they are on the CPU.
bool names_a_device(std::string_view text) {
  static const RE2 device("cuda|gpu|\\bdevice\\b|nvidia", any_case());
  return has_words(text, device);
}

std::vector<ReadCall> calls_of(Caller caller, std::string_view text) try {
  std::vector<ReadCall> calls;
  for (const frameworks::FrameworkCall& call : frameworks::calls_in_source({caller}, text, "text")) {
    frameworks::CallQuestions asked = frameworks::questions_of({call}, caller);
    calls.push_back({std::string(name_of(caller)), asked.framework, line_of(call.origin), call.notes, call.given,
                     std::move(asked.questions)});
  }
  return calls;
} catch (const Error&) {  // the framework itself refuses the call, or the call is incomplete
  return {};
}

// Transformer Engine's debug output.
std::vector<ReadCall> transformer_engine_calls(std::string_view text, int sm, CudnnVersion cudnn) try {
  std::vector<ReadCall> calls;
  if (text.find("Running with config={") == std::string_view::npos) return calls;
  for (const auto& query : frameworks::parse_transformer_engine(text, "text")) {
    ReadCall call{"te", "transformer-engine", line_of(query.origin), {}, query.given, {}};
    for (const auto& named : frameworks::named_releases(query.logged_on)) call.release += "==" + named.version;
    const auto graphs = frameworks::transformer_engine_graphs(query, {sm, cudnn});
    for (const auto& spec : {graphs.forward, graphs.backward})
      if (spec) call.questions.push_back({.config = {*spec, query.origin}, .given = {}});
    calls.push_back(std::move(call));
  }
  return calls;
} catch (const Error&) {
  return {};
}

TextCall answer_of(const answer::Answer& result, const ReadCall& call, bool target_is_named) {
  TextCall answer;
  answer.line = call.line;
  answer.call = attention::describe(result.config.spec);
  answer.read_as = call.notes;
  answer.target = result.target.id;
  answer.target_is_named = target_is_named;
  answer.cudnn = result.cudnn_version.text();
  if (!result.frameworks.empty()) {
    const rules::GateAnswer& gate = result.frameworks.front();
    answer.says = gate.text;
    if (call.release.find("==") == std::string::npos) answer.says += " (the newest known release; the text names none)";
    answer.is_taken = gate.takes == rules::Takes::yes || gate.takes == rules::Takes::by_name;
    answer.source = gate.source.text;
    if (!gate.refusals.empty()) answer.change = gate.refusals.front().change;
    if (answer.change.empty() && gate.takes == rules::Takes::by_name) answer.change = gate.by_name;
  }
  for (const auto& requirement : result.requirements) answer.needs.push_back(requirement.text);
  for (const auto& bug : result.warnings) answer.bugs.push_back(fmt::format("{} {}", bug.what, bug.advice));
  answer.framework = call.option;
  answer.asked = call.given;
  return answer;
}

// Whether Transformer Engine's own log names another attention than cuDNN's as its choice.
bool chose_another(std::string_view text) {
  static const RE2 chosen("Selected backend = (\\w+)", exact_case());
  std::string name;
  return RE2::PartialMatch(piece(text), chosen, &name) && name != "FusedAttention";
}

// Which answers may explain something, in view of what else the text says.
struct Besides {
  Besides(std::string_view text, const TextFacts& facts, const TextAnswer& answer)
      : needs_refusal(!is_established(answer) && !facts.may_be_refused()),
        needs_obstacle(is_failure(facts.trouble) && !facts.is_placed()),
        engine_chose_another(chose_another(text)) {
    for (const Refusal& one : answer.refusals)
      if (one.kind == MessageKind::refusal && one.says_why && one.layer != Layer::execution) needs_obstacle = true;
  }
  bool needs_refusal;         // no message was recognised, and a refusal does not cause the trouble
  bool needs_obstacle;        // a message says why, or neither GPU nor release of a failure is known
  bool engine_chose_another;  // according to Transformer Engine's log
};

// For trouble that no refusal explains, only known bugs count, or that the release in the text does not ask cuDNN.
bool explains(AnsweredCall& answer, const ReadCall& call, const Besides& besides) {
  if (answer.call.is_taken)
    return !answer.asked.bugs.empty() || (!besides.needs_refusal && !besides.needs_obstacle &&
                                          !(call.option == "te" && besides.engine_chose_another));
  if (!besides.needs_refusal) return true;
  if (call.release.find("==") == std::string::npos) return false;
  answer.call.says = "cuDNN is not involved: " + answer.call.says;
  answer.call.change.clear();
  return true;
}

// Of several GPUs, the text is about the first one that refuses a call.
void choose_gpu(ChosenGpu& gpu, const std::vector<ReadCall>& calls, const TextFacts& facts, const AskWith& with) try {
  for (const std::string& id : facts.gpus) {
    const gpu::Target target = gpu::simulated_targets(id).front();
    for (const ReadCall& call : calls) {
      const auto results = put(call.questions, {target}, facts, {gate_for(call.release)}, with);
      if (std::ranges::all_of(results, [](const answer::Answer& one) { return refusals_of(one).empty(); })) continue;
      gpu.target = target;
      return;
    }
  }
} catch (const Error&) {
}

}  // namespace

std::vector<AnsweredCall> answer_calls(std::string_view text, const TextFacts& facts, const TextAnswer& besides,
                                       const AskWith& with) {
  if (facts.is_of_other_makers()) return {};
  ChosenGpu gpu = gpu_of(facts);
  std::vector<ReadCall> calls;
  if (!facts.has_error || gpu.is_named || names_a_device(text)) calls = calls_of(Caller::torch, text);
  for (auto& call : calls_of(Caller::jax, text)) calls.push_back(std::move(call));
  const auto cudnn = facts.versions.empty() ? std::nullopt : CudnnVersion::parse(facts.versions.front());
  for (auto& call : transformer_engine_calls(text, gpu.target.sm, cudnn.value_or(asking::newest_version())))
    calls.push_back(std::move(call));
  if (facts.has_several_gpus) choose_gpu(gpu, calls, facts, with);
  // Without a type in the source, the prose's counts. A tensor that the source creates has PyTorch's own default.
  static const RE2 single(
      "f(?:loat|p)?32|torch\\.(?:float\\b|(?:rand\\w*|zeros|ones|empty|full|tensor)\\()|\\bfloat\\b", any_case()),
      bf16("bf16|bfloat16", any_case()), half("\\bfp?16\\b|\\bfloat16|\\bhalf\\b", any_case());
  const bool is_bf16 = has_words(text, bf16);
  if ((is_bf16 || has_words(text, half)) && !has_words(text, single))
    for (ReadCall& call : calls)
      for (auto& question : call.questions)
        if (auto& type = question.config.spec.dtype; type == DataType::f32)
          type = is_bf16 ? DataType::bf16 : DataType::f16;
  const Besides said(text, facts, besides);
  std::vector<AnsweredCall> answers;
  for (const ReadCall& call : calls) try {
      const std::vector<rules::ChosenGate> gates = {gate_for(call.release)};
      for (auto& result : put(call.questions, {gpu.target}, facts, gates, with)) {
        if (answers.size() == most_answers) return answers;
        AnsweredCall answer{answer_of(result, call, gpu.is_named), weighed({std::move(result)}, {}, facts.trouble)};
        if (!explains(answer, call, said)) continue;
        answer.asked.is_whole_call = true;
        answer.asked.assumed = call.notes;
        if (!call.notes.empty()) answer.asked.untold.emplace_back("the whole call");
        if (!gpu.is_named) answer.asked.untold.emplace_back("the GPU");
        complete(answer.asked, facts, gates, with);
        answer.call.answered = whom_asked(answer.asked);
        answers.push_back(std::move(answer));
      }
    } catch (const Error&) {
    }
  return answers;
}

}  // namespace attnprobe::explain
