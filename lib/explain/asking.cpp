#include "explain/asking.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "attention/config.hpp"
#include "base/error.hpp"
#include "campaign/ask.hpp"
#include "campaign/by_rule.hpp"
#include "campaign/reproduce.hpp"
#include "campaign/suggest/ways_out.hpp"
#include "cudnn/library_info.hpp"
#include "explain/words.hpp"
#include "gpu/catalogue.hpp"

namespace attnprobe::explain {
namespace {

constexpr const char* usual_gpu = "h100";
constexpr const char* without_causal = "without the causal mask";

campaign::PlanOptions options_for(const std::vector<rules::ChosenGate>& gates) {
  campaign::PlanOptions options;
  options.frameworks = gates;
  options.walk.plans = probe::Plans::automatic;  // simulated GPUs build none
  options.walk.sweep_where_none = false;
  return options;
}

// A field that a question needs, with a default value and an alternative.
struct Usual {
  const char *field, *words;
  Json value, other;
};

const std::vector<Usual>& usual_fields() {
  static const std::vector<Usual> usual = {{"heads_q", "the number of heads", 8, 32},
                                           {"seqlen_q", "the sequence length", 1024, 1088},
                                           {"head_dim_qk", "the head dimension", 128, 64},
                                           {"dtype", "the data type", "bf16", "f16"},
                                           {"pass", "forward or backward", "fprop", "bprop"}};
  return usual;
}

using Fields = std::vector<std::pair<std::string, Json>>;

void set_field(Fields& fields, const std::string& name, Json value) {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const auto& one) { return one.first == name; });
  if (found == fields.end())
    fields.emplace_back(name, std::move(value));
  else
    found->second = std::move(value);
}

const Json* field_of(const Fields& fields, const std::string& name) {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const auto& one) { return one.first == name; });
  return found == fields.end() ? nullptr : &found->second;
}

// Adds the other required fields: the sizes of K and V, and lengths of packed and paged sequences.
Fields completed(Fields fields) {
  const auto copy = [&](const char* to, const char* from) {
    if (field_of(fields, to) == nullptr)
      if (const Json* value = field_of(fields, from)) set_field(fields, to, *value);
  };
  copy("heads_kv", "heads_q");
  copy("head_dim_v", "head_dim_qk");
  if (field_of(fields, "seqlen_kv") == nullptr) {
    const Json queries = *field_of(fields, "seqlen_q");
    set_field(fields, "seqlen_kv", queries == 1 ? Json(4096) : queries);
  }
  const bool is_packed = field_of(fields, "layout") != nullptr, is_paged = field_of(fields, "paged") != nullptr;
  if (is_packed && field_of(fields, "batch") == nullptr) set_field(fields, "batch", 2);
  if (!is_paged && !is_packed) return fields;
  Json mask = field_of(fields, "mask") == nullptr ? Json::object() : *field_of(fields, "mask");
  mask["padding"] = true;
  set_field(fields, "mask", mask);
  return fields;
}

// The GPUs that differ most from the default one.
std::vector<gpu::Target> other_gpus() {
  return {gpu::simulated_targets("l40s").front(), gpu::simulated_targets("b200").front()};
}

std::optional<answer::Question> question_of(const Fields& fields, const ToldQuestion& told) try {
  std::vector<attention::Override> overrides;
  for (const auto& [name, value] : fields) overrides.push_back({name, value});
  answer::Question question;
  question.config = attention::configs_from_options(overrides).front();
  question.call = told.call;
  return question;
} catch (const Error&) {
  return std::nullopt;
}

std::vector<rules::ChosenGate> gates_of(const ToldQuestion& told) {
  return told.framework.empty() ? std::vector<rules::ChosenGate>() : rules::choose_gates({told.framework}, "the text");
}

// The text's first version that is installed, else its first.
std::string version_of(const TextFacts& facts) {
  for (const auto& version : facts.versions)
    if (cudnn::find_version(version)) return version;
  for (const auto& version : facts.versions)
    if (campaign::named_version(version)) return version;
  return "";
}

// The obstacle, in the form that does not depend on sizes.
std::string obstacle_of(const answer::Answer& result) {
  for (const auto& gate : result.frameworks)
    if (!gate.refusals.empty()) return "framework " + gate.refusals.front().id;
  for (const auto& requirement : result.requirements) return "requirement " + requirement.id;
  if (result.frontend && result.frontend->refuses) return "frontend " + result.frontend->id;
  if (result.usable == answer::Usable::no && result.root_cause)
    return fmt::format("cudnn {} {}", name_of(result.root_cause->category), answer::short_reason(result));
  for (const auto& bug : result.warnings) return "bug " + bug.id;
  return "";
}

bool shows_so(const rules::KnownBug& bug, Trouble trouble) {
  static constexpr std::pair<Trouble, rules::BugShows> same[] = {{Trouble::hang, rules::BugShows::hang},
                                                                 {Trouble::crash, rules::BugShows::crash},
                                                                 {Trouble::wrong, rules::BugShows::wrong_results},
                                                                 {Trouble::varies, rules::BugShows::wrong_results}};
  const rules::KnownBugRule* rule = rules::find_known_bug(bug.id);
  return rule != nullptr && std::any_of(std::begin(same), std::end(same), [&](const auto& one) {
           return one.first == trouble &&
                  std::find(rule->shows.begin(), rule->shows.end(), one.second) != rule->shows.end();
         });
}

}  // namespace

ChosenGpu gpu_of(const TextFacts& facts) {
  const std::string named = facts.target();
  return {gpu::simulated_targets(named.empty() ? usual_gpu : named).front(), !named.empty()};
}

std::vector<answer::Answer> put(const std::vector<answer::Question>& questions, const std::vector<gpu::Target>& targets,
                                const TextFacts& facts, const std::vector<rules::ChosenGate>& gates,
                                const AskWith& with) {
  const std::string version = version_of(facts);
  campaign::Plan plan{.groups = {{questions, targets}},
                      .cudnn = version,
                      .options = options_for(gates),
                      .further = campaign::Further::ways_out};
  const auto by_rule = [&] {
    const std::string word = version.empty() ? rules::cudnn_of(gates).value_or("") : version;
    plan.by_rule = campaign::named_version(word).value_or(campaign::newest_version());
    return campaign::ask(plan).front().results;
  };
  if (!with.cudnn) return by_rule();
  try {
    auto results = campaign::ask(plan, {.program = with.program}).front().results;
    const bool is_broken =
        std::any_of(results.begin(), results.end(), [](const auto& one) { return one.environment_broken; });
    return is_broken ? by_rule() : results;
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::environment) throw;
    return by_rule();
  }
}

std::vector<answer::Answer> ask_graph(const replay::Replay& replay, const TextFacts& facts, const AskWith& with) try {
  for (const replay::ReplayedGraph& graph : replay.graphs) {
    if (!graph.logged.imported || graph.logged.refused()) continue;
    const std::string named = facts.target();
    // Without a named GPU, the GPUs that differ most.
    std::vector<gpu::Target> targets;
    for (const auto& word :
         named.empty() ? std::vector<std::string>{usual_gpu, "b200"} : std::vector<std::string>{named})
      targets.push_back(gpu::simulated_targets(word).front());
    return put({replay::question_of(replay, graph)}, targets, facts, {}, with);
  }
  return {};
} catch (const Error&) {
  return {};
}

std::optional<Asked> ask(const ToldQuestion& told, const TextFacts& facts, const AskWith& with) try {
  Fields fields;
  for (const ToldField& one : told.fields) set_field(fields, one.field, one.value);
  std::vector<std::string> assumed = told.assumed;
  std::vector<const Usual*> untold;
  for (const Usual& usual : usual_fields())
    if (field_of(fields, usual.field) == nullptr) {
      set_field(fields, usual.field, usual.value);
      untold.push_back(&usual);
      if (std::string_view(usual.field) != "pass")
        assumed.push_back(fmt::format("{} {}", usual.words,
                                      usual.value.is_string() ? usual.value.get<std::string>() : usual.value.dump()));
    }
  const ChosenGpu gpu = gpu_of(facts);
  const bool is_whole = assumed.empty() && gpu.is_named;
  if (!gpu.is_named) assumed.emplace_back("an H100");
  if (!facts.frontends.empty() && told.framework.empty()) set_field(fields, "frontend", facts.frontends.front());
  auto question = question_of(completed(fields), told);
  if (!question) {
    std::erase_if(fields, [](const auto& one) { return one.first == "frontend"; });  // an unknown release
    question = question_of(completed(fields), told);
  }
  if (!question) return std::nullopt;
  std::vector<answer::Question> questions = {*question};
  std::vector<std::string> differs_in = {""};
  const auto add_variant = [&](const std::string& field, const Json& value, const std::string& words) {
    Fields others = fields;
    set_field(others, field, value);
    const auto other = question_of(completed(others), told);
    if (!other) return;
    questions.push_back(*other);
    differs_in.push_back(words);
  };
  for (const Usual* usual : untold) add_variant(usual->field, usual->other, usual->words);
  // A question about a window is mostly about its mask.
  const Json* mask = field_of(fields, "mask");
  if (mask != nullptr && facts.asks && mask->contains("causal") && mask->contains("window_left")) {
    Json other_mask = *mask;
    other_mask.erase("causal");
    add_variant("mask", other_mask, without_causal);
  }
  const auto gates = gates_of(told);
  auto results = put(questions, {gpu.target}, facts, gates, with);
  if (results.empty()) return std::nullopt;
  if (!gpu.is_named)
    for (auto& other : put({*question}, other_gpus(), facts, gates, with)) {
      results.push_back(std::move(other));
      differs_in.emplace_back("the GPU");
    }
  Asked asked = weighed(std::move(results), differs_in, facts.trouble);
  asked.assumed = std::move(assumed);
  asked.by_rules_of = told.framework_note;
  asked.is_whole = is_whole;
  complete(asked, facts, gates, with);
  return asked;
} catch (const Error&) {
  return std::nullopt;
}

Asked weighed(std::vector<answer::Answer> results, const std::vector<std::string>& differs_in, Trouble trouble) {
  Asked asked;
  asked.result = std::move(results.front());
  const std::string obstacle = obstacle_of(asked.result);
  for (size_t i = 0; i < results.size(); ++i) {
    const answer::Answer& result = i == 0 ? asked.result : results[i];
    const std::string other = obstacle_of(result);
    if (differs_in[i] == without_causal) {
      if (!other.empty())
        asked.beside.push_back(fmt::format("{}: {}", without_causal,
                                           result.frameworks.empty() || result.frameworks.front().refusals.empty()
                                               ? answer::short_reason(result)
                                               : result.frameworks.front().text));
      continue;
    }
    if (other != obstacle && asked.depends_on.empty()) asked.depends_on = differs_in[i];
    for (const auto& bug : result.warnings)
      if (shows_so(bug, trouble) &&
          std::none_of(asked.bugs.begin(), asked.bugs.end(), [&](const auto& one) { return one.id == bug.id; }))
        asked.bugs.push_back(bug);
  }
  asked.is_established = !obstacle.empty() && asked.depends_on.empty();
  asked.command = asked.result.reproduce;
  return asked;
}

void complete(Asked& asked, const TextFacts& facts, const std::vector<rules::ChosenGate>& gates, const AskWith& with) {
  const std::string answering = asked.result.cudnn_version.text();
  if (const auto brought = rules::cudnn_of(gates);
      brought && facts.versions.empty() && !is_of_version(answering, *brought))
    asked.assumed.push_back(
        fmt::format("cuDNN {}, where {} brings {}", answering, rules::title_of(gates.front()), *brought));
  if (asked.is_established && !asked.result.by_rule && asked.result.usable != answer::Usable::yes)
    campaign::advise(asked.result, options_for(gates), {.program = with.program},
                     {.most = 1, .most_asked = 40, .two_at_a_time = false, .compile = false});
}

}  // namespace attnprobe::explain
