#include "explain/asking_cudnn.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ask/by_rule.hpp"
#include "base/error.hpp"
#include "explain/question_fields.hpp"
#include "gpu/catalogue.hpp"

namespace attnprobe::explain {
namespace {

// Programs that only serve have no backward pass.
bool is_for_inference(const std::string& framework) {
  static const std::set<std::string> serving{"onnxruntime", "vllm", "sglang", "flashinfer", "tensorrt", "diffusers"};
  return serving.contains(framework.substr(0, framework.find("==")));
}

// The GPUs that differ most from the default one.
std::vector<gpu::Target> other_gpus() {
  return {gpu::simulated_targets("l40s").front(), gpu::simulated_targets("b200").front()};
}

std::vector<rules::ChosenGate> gates_of(const ToldQuestion& told) {
  if (told.framework.empty()) return {};
  // PyTorch's gate comes after Diffusers'.
  if (told.framework.starts_with("diffusers")) return rules::choose_gates({told.framework, "torch"}, "the text");
  return rules::choose_gates({told.framework}, "the text");
}

// Keeps the gate's refusals that apply to every variant.
void keep_common(answer::Answer& result, const std::vector<std::string>& common) {
  for (auto& gate : result.frameworks) {
    const auto is_other = [&](const rules::GateRefusal& one) {
      return std::find(common.begin(), common.end(), one.id) == common.end();
    };
    const size_t before = gate.refusals.size();
    std::erase_if(gate.refusals, is_other);
    if (gate.refusals.empty() || gate.refusals.size() == before) continue;
    std::vector<std::string> what;
    for (const rules::GateRefusal& one : gate.refusals) what.push_back(one.what);
    gate.text = fmt::format("{} refuses {}", gate.title, fmt::join(what, ", and "));
  }
}

std::string bug_of(const answer::Answer& result) {
  return result.warnings.empty() ? "" : result.warnings.front().id;
}

// Why it is refused: the gate's words, a requirement's, or cuDNN's.
std::string reason_of(const answer::Answer& result) {
  if (!result.frameworks.empty() && !result.frameworks.front().refusals.empty()) return result.frameworks.front().text;
  return result.requirements.empty() ? answer::short_reason(result) : result.requirements.front().text;
}

// A bug whose condition names more fields of the text comes before one of assumed sizes.
void most_told_first(std::vector<rules::KnownBug>& bugs, const std::vector<ToldField>& fields) {
  std::map<std::string, std::ptrdiff_t> told;
  for (const rules::KnownBug& bug : bugs) {
    const rules::KnownBugRule* rule = rules::find_known_bug(bug.id);
    told[bug.id] = rule == nullptr ? 0 : std::ranges::count_if(fields, [&](const ToldField& one) {
      return rules::depends_on(*rule, one.field == "layout" ? "ragged" : one.field);
    });
  }
  std::stable_sort(bugs.begin(), bugs.end(),
                   [&](const auto& a, const auto& b) { return told.at(a.id) > told.at(b.id); });
}

// The text names no release of its framework, so the newest answers. Other releases may not refuse, so that
// its refusal is a cause only if the text speaks of one.
void assume_release(Asked& asked, const rules::ChosenGate& gate, const TextFacts& facts) {
  asked.assumed.insert(asked.assumed.begin(), rules::title_of(gate) + ", the newest known");
  asked.is_release_assumed = true;
  if (facts.trouble == Trouble::question || facts.trouble == Trouble::refused) return;
  for (const auto& answer : asked.result.frameworks)
    if (!answer.refusals.empty() && !answer.refused_since.empty()) {
      asked.is_established = false;
      if (asked.depends_on.empty()) asked.depends_on = "the release of " + gate.gate->title;
    }
}

// A refusal in a text that names no cuDNN depends on it.
void add_first(Asked& asked, const answer::Question& question, const ChosenGpu& gpu,
               const std::vector<rules::ChosenGate>& gates, const TextFacts& facts, bool is_forward_only) {
  const bool is_refused = !refusals_of(asked.result).empty(),
             is_untold = cudnns_told(facts).empty() && (is_refused || facts.trouble == Trouble::refused);
  if (!facts.asks_version && (gpu.is_named ? !is_untold : !is_refused || !is_untold)) return;
  FirstCudnn first = first_cudnn(question, gpu.target, gates);
  // If this cuDNN refuses what the rules allow, they do not know the version with a fix.
  if (is_refused && first.version.is_known() && first.version <= asked.result.cudnn_version) return;
  // Programs of today have no older one, so that another reason is more likely.
  constexpr CudnnVersion oldest_in_use{9, 8, 0};
  const bool is_unlikely = first.has_bug || (first.version.is_known() && first.version <= oldest_in_use);
  if (!is_refused && !facts.asks_version && is_unlikely) return;
  const bool depends = is_untold && first.version.is_known() && !first.before.empty();
  if (gpu.is_named && (facts.asks_version || depends)) {
    asked.first = {std::move(first)};
  } else if (!gpu.is_named) {
    if (facts.asks_version)
      for (const char* id : {"a100", "l40s", "h100", "b200", "rtx5090"})
        asked.first.push_back(first_cudnn(question, gpu::simulated_targets(id).front(), gates));
    asked.is_established = asked.is_established && !depends;
    if (depends && asked.depends_on.empty()) asked.depends_on = "the version of cuDNN";
  }
  for (FirstCudnn& one : asked.first) one.is_forward_only = is_forward_only;
}

}  // namespace

namespace {

// Of several GPUs, the text is about the first one that refuses it, or that has a bug with the text's symptom. Returns
// the others if all of them support it.
std::vector<std::string> choose_gpu(ChosenGpu& gpu, const std::vector<answer::Question>& cases, const TextFacts& facts,
                                    const std::vector<rules::ChosenGate>& gates, const AskWith& with,
                                    std::vector<std::string>& assumed) {
  constexpr size_t most = 4;
  if (!facts.has_several_gpus || facts.gpus.size() > most) return {};
  std::vector<gpu::Target> targets;
  for (const auto& id : facts.gpus) targets.push_back(gpu::simulated_targets(id).front());
  std::set<std::string> obstructed;
  for (const auto& result : put(cases, targets, facts, gates, with)) {
    const bool has_bug = is_failure(facts.trouble) && std::ranges::any_of(result.warnings, [&](const auto& bug) {
                           return shows_so(bug, facts.trouble);
                         });
    if (has_bug || !refusals_of(result).empty()) obstructed.insert(result.target.id);
  }
  const auto first = std::ranges::find_if(targets, [&](const auto& one) { return obstructed.contains(one.id); });
  if (first != targets.end()) gpu.target = *first;
  std::vector<std::string> takers;
  for (const gpu::Target& one : targets)
    if (!obstructed.contains(one.id) && one.id != gpu.target.id) takers.push_back(one.id);
  if (first == targets.end()) return takers;
  if (!takers.empty())
    assumed.push_back(fmt::format("it is about {} (not refused on {})", gpu.target.id, fmt::join(takers, ", ")));
  return {};
}

}  // namespace

namespace {

std::string in_words(const ToldField& one) {
  return fmt::format("{} {} (line {})", one.field, text_of(one.value), one.line);
}

// The question with another value of the text.
struct OtherCase {
  const ToldField* field;
  answer::Question question;
};

std::vector<OtherCase> other_cases(const ToldQuestion& told, const Json& fields) {
  std::vector<OtherCase> cases;
  for (const ToldField& one : told.others) {
    if (one.field.starts_with("seqlen")) continue;  // it may be of queries, of keys or of both
    Json others = fields;
    others[one.field] = one.value;
    if (auto question = question_of(others, told)) cases.push_back({&one, std::move(*question)});
  }
  return cases;
}

}  // namespace

std::optional<Asked> ask(const ToldQuestion& told, const TextFacts& facts, const AskWith& given) try {
  Json fields = Json::object();
  for (const ToldField& one : told.fields) fields[one.field] = one.value;
  std::vector<std::string> assumed = told.assumed;
  std::vector<const UsualField*> untold;
  for (const UsualField& usual : usual_fields())
    if (!fields.contains(usual.field)) {
      fields[usual.field] = usual.value;
      if (std::string_view(usual.field) == "pass" && is_for_inference(told.framework)) continue;
      untold.push_back(&usual);
      if (std::string_view(usual.field) != "pass")
        assumed.push_back(fmt::format("{} {}", usual.words, text_of(usual.value)));
    }
  if (!fields.contains("seqlen_kv") && fields["seqlen_q"] == 1) assumed.emplace_back("4096 keys");
  ChosenGpu gpu = gpu_of(facts);
  if (!gpu.is_named && !facts.sms.empty()) return std::nullopt;  // a GPU that is not in the catalogue
  AskWith with = given;
  with.cudnn = given.cudnn && !gpu.is_old;
  std::vector<std::string> missing;
  for (const UsualField* usual : untold)
    if (std::string_view(usual->field) != "pass") missing.emplace_back(usual->words);
  if (!gpu.is_named) {
    assumed.emplace_back("an H100");
    missing.emplace_back("the GPU");
  }
  if (!facts.frontends.empty() && told.framework.empty()) fields["frontend"] = facts.frontends.front();
  auto question = question_of(fields, told);
  if (!question) {
    fields.erase("frontend");  // an unknown release
    question = question_of(fields, told);
  }
  if (!question) return std::nullopt;
  const auto gates = gates_of(told);
  const std::vector<OtherCase> cases = other_cases(told, fields);
  std::vector<answer::Question> all_cases = {*question};
  for (const OtherCase& one : cases) all_cases.push_back(one.question);
  const auto also_on = choose_gpu(gpu, all_cases, facts, gates, with, assumed);
  // If the text has several values of a field, it is about the refused one.
  if (!cases.empty()) {
    const auto results = put(all_cases, {gpu.target}, facts, gates, with);
    const auto refused = std::ranges::find_if(results, [](const auto& one) { return !refusals_of(one).empty(); });
    if (refused != results.end() && refused != results.begin()) {
      const OtherCase& other = cases[static_cast<size_t>(refused - results.begin()) - 1];
      fields[other.field->field] = other.field->value;
      question = other.question;
      assumed.insert(assumed.begin(), "it is about " + in_words(*other.field));
    }
  }
  std::vector<answer::Question> questions = {*question};
  std::vector<Variant> variants;
  const auto add_variant = [&](const std::string& field, const Json& value, const Variant& variant) {
    Json others = fields;
    others[field] = value;
    const auto other = question_of(others, told);
    if (!other) return;
    questions.push_back(*other);
    variants.push_back(variant);
  };
  for (const UsualField* usual : untold) add_variant(usual->field, usual->other, {Variant::Of::missing, usual->words});
  for (const ToldField& one : told.others)
    if (fields.at(one.field) != one.value) add_variant(one.field, one.value, {Variant::Of::told, in_words(one)});
  // The text tells Keras' release, but not JAX's.
  constexpr int jax_before_changes = 602;
  if (told.framework.starts_with("keras") && !told.call.contains("backend") && !told.call.contains("jax")) {
    ToldQuestion older = told;
    older.call["jax"] = jax_before_changes;
    if (const auto other = question_of(fields, older)) {
      questions.push_back(*other);
      variants.push_back({Variant::Of::missing, "the release of JAX"});
    }
  }
  // In cudnn-frontend's own graphs the statistics of ragged sequences may be dense or ragged.
  if (told.framework.empty() && fields.contains("layout") && fields.value("pass", Json()) != "fprop")
    add_variant("ragged_stats", false, {Variant::Of::missing, "the layout of the softmax statistics"});
  // A question about a window usually concerns its mask.
  const Json mask = fields.value("mask", Json());
  if (facts.asks && mask.is_object() && mask.contains("causal") && mask.contains("window_left")) {
    Json other_mask = mask;
    other_mask.erase("causal");
    add_variant("mask", other_mask, {Variant::Of::mask, "without the causal mask"});
  }
  auto results = put(questions, {gpu.target}, facts, gates, with);
  if (results.empty()) return std::nullopt;
  if (!gpu.is_named)
    for (auto& other : put({*question}, other_gpus(), facts, gates, with)) {
      results.push_back(std::move(other));
      variants.push_back({Variant::Of::missing, "the GPU"});
    }
  Asked asked = weighed(std::move(results), variants, facts.trouble);
  most_told_first(asked.bugs, told.fields);
  most_told_first(asked.result.warnings, told.fields);
  const bool is_forward_only =
      std::ranges::any_of(untold, [](const UsualField* usual) { return std::string_view(usual->field) == "pass"; });
  add_first(asked, *question, gpu, gates, facts, is_forward_only);
  if (asked.is_established &&
      (!asked.result.requirements.empty() || (asked.result.frontend && asked.result.frontend->refuses)))
    asked.lifted_by = lifting_version(*question, asked.result, gates);
  asked.fitting_gpu = fitting_gpu(*question, asked.result, gates);
  asked.assumed.insert(asked.assumed.end(), assumed.begin(), assumed.end());
  asked.by_rules_of = told.framework_note;
  asked.unread = told.unread;
  asked.also_on = also_on;
  asked.has_cases = told.has_cases || !told.others.empty();
  asked.is_partial = told.is_partial || !told.unread.empty();
  static const std::set<std::string> plain{"batch",       "heads_q",    "heads_kv", "seqlen_q", "seqlen_kv",
                                           "head_dim_qk", "head_dim_v", "dtype",    "pass"};
  asked.is_plain = std::ranges::all_of(told.fields, [](const ToldField& one) { return plain.contains(one.field); });
  asked.untold = std::move(missing);
  if (!gates.empty() && told.framework.find("==") == std::string::npos) assume_release(asked, gates.front(), facts);
  // The rules of the nearest known release, where they changed, are not those of the text's.
  for (const auto& gate : asked.result.frameworks)
    if (!told.framework_note.empty() && !gate.refusals.empty() && !gate.refused_since.empty()) {
      asked.is_established = false;
      if (asked.depends_on.empty()) asked.depends_on = fmt::format("the rules of that release of {}", gate.title);
    }
  if (facts.nvidia_builds.contains(told.framework) && facts.versions.empty())
    asked.assumed.push_back(fmt::format("cuDNN {}, which NVIDIA's builds replace", asked.result.cudnn_version.text()));
  complete(asked, facts, gates, with);
  // The command cannot express the other keys of a call.
  static const std::set<std::string> of_call_only{"fp8_recipe",  "call",       "kv_cache",  "context_parallel",
                                                  "backend_set", "enable_gqa", "mask_rank", "mask_requires_grad"};
  const bool is_of_call =
      std::ranges::any_of(told.call.items(), [](const auto& one) { return of_call_only.contains(one.key()); });
  if (gpu.is_old || is_of_call) asked.command.clear();
  return asked;
} catch (const Error&) {
  return std::nullopt;
}

Asked weighed(std::vector<answer::Answer> results, const std::vector<Variant>& variants, Trouble trouble) {
  Asked asked;
  std::vector<std::string> common = refusals_of(results.front());
  const std::string bug = bug_of(results.front());
  const bool is_refused = !common.empty();
  bool is_bug_of_all = !bug.empty();
  for (size_t i = 0; i < results.size(); ++i) {
    const answer::Answer& result = results[i];
    for (const auto& one : result.warnings)
      if (shows_so(one, trouble) &&
          std::none_of(asked.bugs.begin(), asked.bugs.end(), [&](const auto& other) { return other.id == one.id; }))
        asked.bugs.push_back(one);
    if (i == 0) continue;
    const Variant& variant = variants[i - 1];
    const std::vector<std::string> other = refusals_of(result);
    if (variant.of == Variant::Of::mask && !other.empty())
      asked.beside.push_back(fmt::format("{}: {}", variant.words, reason_of(result)));
    if (variant.of != Variant::Of::missing) continue;
    const bool is_of_one_pass = variant.words == either_pass && trouble == Trouble::refused && !bug.empty() &&
                                shows_so(results.front().warnings.front(), trouble);
    is_bug_of_all = is_bug_of_all && (is_of_one_pass || bug_of(result) == bug);
    // Both passes are refused, each for a reason of its own; or only this one, and the text speaks of a refusal.
    const bool is_of_this_pass =
        variant.words == either_pass && is_refused && (!other.empty() || trouble == Trouble::refused) &&
        std::ranges::none_of(common, [&](const auto& id) { return std::ranges::find(other, id) != other.end(); });
    if (is_of_this_pass) {
      asked.assumed.push_back(
          fmt::format("the forward pass (the backward pass is {})", other.empty() ? "not refused" : "refused too"));
      continue;
    }
    // "Is fp8 possible?" of both passes: the answer tells each.
    if (variant.words == either_pass && trouble == Trouble::question && !is_refused && !other.empty()) {
      asked.backward = reason_of(result);
      continue;
    }
    std::erase_if(common, [&](const auto& id) { return std::find(other.begin(), other.end(), id) == other.end(); });
    if ((is_refused && common.empty()) || (!is_refused && !other.empty()))
      if (asked.depends_on.empty()) asked.depends_on = variant.words;
  }
  asked.result = std::move(results.front());
  asked.is_established = asked.depends_on.empty() && (is_refused || is_bug_of_all);
  if (asked.is_established && is_refused) keep_common(asked.result, common);
  asked.command = asked.result.reproduce;
  return asked;
}

void complete(Asked& asked, const TextFacts& facts, const std::vector<rules::ChosenGate>& gates, const AskWith& with) {
  const std::string answering = asked.result.cudnn_version.text();
  const auto brought = rules::cudnn_of(gates);
  const auto told = facts.versions.empty() && brought ? std::vector<std::string>{*brought} : facts.versions;
  const auto answers_for = [&](const std::string& version) { return is_of_version(answering, version); };
  asked.is_other_cudnn = !told.empty() && std::ranges::none_of(told, answers_for);
  if (told.empty()) asked.assumed.push_back("cuDNN " + answering);
  if (asked.is_other_cudnn && facts.versions.empty())
    asked.assumed.push_back(fmt::format("cuDNN {}; {} ships {}", answering, rules::title_of(gates.front()), *brought));
  if (const rules::GatePlans* plans = gates.empty() ? nullptr : rules::plans_of(gates.front())) asked.plans = *plans;
  if (!asked.is_established || asked.result.by_rule || asked.result.usable == answer::Usable::yes) return;
  asking::Plan plan{.groups = {{{asked.result}, {asked.result.target}, {asked.result.cudnn_path}}},
                    .options = options_for(gates),
                    .further = asking::Further::ways_out,
                    .suggest = {{.most = 1, .most_asked = 40, .two_at_a_time = false, .compile = false}}};
  plan.options.walk.sweep_where_none = true;
  plan.options.walk.plans = probe::Plans::none;
  const auto answers = asking::ask(plan, {.program = with.program}).front().results;
  if (!answers.empty()) asked.result.ways_out = answers.front().ways_out;
}

}  // namespace attnprobe::explain
