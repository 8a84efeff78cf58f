// Puts questions to gates, rules and cuDNN, and finds the cuDNN that an attention needs.
#include "explain/asking_cudnn.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ask/by_rule.hpp"
#include "base/error.hpp"
#include "cudnn/library_info.hpp"
#include "gpu/catalogue.hpp"
#include "rules/condition.hpp"

namespace attnprobe::explain {
namespace {

constexpr const char* usual_gpu = "h100";

// The text's first version, installed or not.
std::string version_of(const TextFacts& facts) {
  for (const auto& version : facts.versions)
    if (asking::named_version(version)) return version;
  return "";
}

// A known bug that the first choice has at execution; "".
std::string bug_of_first_choice(const answer::Answer& result) {
  const auto found = std::ranges::find_if(result.warnings, [](const rules::KnownBug& bug) {
    return !bug.of_other_configs &&
           (shows_so(bug, Trouble::wrong) || shows_so(bug, Trouble::crash) || shows_so(bug, Trouble::hang));
  });
  return found == result.warnings.end() ? "" : found->what;
}

}  // namespace

asking::PlanOptions options_for(const std::vector<rules::ChosenGate>& gates) {
  asking::PlanOptions options;
  options.frameworks = gates;
  options.walk.plans = probe::Plans::automatic;  // plans are not built for simulated GPUs
  options.walk.sweep_where_none = false;
  return options;
}

std::vector<std::string> refusals_of(const answer::Answer& result) {
  std::vector<std::string> ids;
  for (const auto& gate : result.frameworks)
    for (const auto& refusal : gate.refusals) ids.push_back(refusal.id);
  for (const auto& requirement : result.requirements) ids.push_back(requirement.id);
  if (result.frontend && result.frontend->refuses) ids.push_back(result.frontend->id);
  if (ids.empty() && result.usable == answer::Usable::no && result.root_cause)
    ids.push_back(fmt::format("{} {}", name_of(result.root_cause->category), answer::short_reason(result)));
  return ids;
}

bool shows_so(const rules::KnownBug& bug, Trouble trouble) {
  static constexpr std::pair<Trouble, rules::BugShows> same[] = {
      {Trouble::refused, rules::BugShows::refused},     {Trouble::refused, rules::BugShows::not_compiled},
      {Trouble::hang, rules::BugShows::hang},           {Trouble::crash, rules::BugShows::crash},
      {Trouble::wrong, rules::BugShows::wrong_results}, {Trouble::varies, rules::BugShows::wrong_results}};
  const rules::KnownBugRule* rule = rules::find_known_bug(bug.id);
  return rule != nullptr && std::any_of(std::begin(same), std::end(same), [&](const auto& one) {
           return one.first == trouble &&
                  std::find(rule->shows.begin(), rule->shows.end(), one.second) != rule->shows.end();
         });
}

FirstCudnn first_cudnn(const answer::Question& question, const gpu::Target& target,
                       const std::vector<rules::ChosenGate>& gates) {
  FirstCudnn first;
  first.gpu = target.id;
  std::vector<std::string> run;  // of excepted releases
  for (const CudnnVersion version : asking::releases_of_cudnn_9()) {
    const auto result = asking::answer_by_rule({question}, {target}, version, options_for(gates)).results.front();
    const std::string bug = bug_of_first_choice(result);
    const bool is_accepted = refusals_of(result).empty();
    if (is_accepted && bug.empty()) {
      if (!first.version.is_known()) first.version = version;
      if (run.size() < 3)
        first.excepted.insert(first.excepted.end(), run.begin(), run.end());
      else
        first.excepted.push_back(fmt::format("{} to {}", run.front(), run.back()));
      run.clear();
    } else if (first.version.is_known()) {
      run.push_back(version.text());
    } else if (is_accepted) {
      first.before = fmt::format("cuDNN {} has a known bug there: {}", version.text(), bug);
      first.has_bug = true;
    } else if (!result.frameworks.empty() && !result.frameworks.front().refusals.empty()) {
      first.before = result.frameworks.front().text;
    } else if (!result.requirements.empty()) {
      first.before = fmt::format("cuDNN {} refuses it: {}", version.text(), result.requirements.front().text);
    } else {
      first.before = fmt::format("with cuDNN {}, cudnn-frontend {} refuses it", version.text(),
                                 result.frontend ? result.frontend->version : "");
    }
  }
  if (!run.empty()) first.excepted.push_back(run.front() + " and newer");
  return first;
}

std::string fitting_gpu(const answer::Question& question, const answer::Answer& refused,
                        const std::vector<rules::ChosenGate>& gates) {
  static constexpr std::pair<const char*, const char*> named[] = {{"h100", "Hopper"}, {"b200", "datacenter Blackwell"}};
  if (refused.requirements.empty()) return "";
  const auto rule = std::ranges::find(rules::requirement_rules(), refused.requirements.front().id,
                                      [](const rules::RequirementRule& one) { return one.entry.id; });
  if (rule == rules::requirement_rules().end() || rule->sm.is_null()) return "";
  std::string fitting, with_newer;
  CudnnVersion least;
  for (const auto& [id, name] : named) {
    const auto target = gpu::simulated_targets(id).front();
    if (!rules::holds(rule->sm, {{"sm", target.sm}})) return "";  // the need itself names the other one
    const auto other =
        asking::answer_by_rule({question}, {target}, refused.cudnn_version, options_for(gates)).results.front();
    if (!other.requirements.empty()) {
      const CudnnVersion first = first_cudnn(question, target, gates).version;
      if (first < refused.cudnn_version || (least.is_known() && least <= first)) continue;
      with_newer = fmt::format("{} with cuDNN {} or newer", name, first.text());
      least = first;
      continue;
    }
    if (!fitting.empty()) return "";
    fitting = name;
  }
  return fitting.empty() ? with_newer : fitting;
}

CudnnVersion lifting_version(const answer::Question& question, const answer::Answer& refused,
                             const std::vector<rules::ChosenGate>& gates) {
  CudnnVersion earlier;
  for (const CudnnVersion version : asking::releases_of_cudnn_9()) {
    const auto result =
        asking::answer_by_rule({question}, {refused.target}, version, options_for(gates)).results.front();
    if (!refusals_of(result).empty() || !bug_of_first_choice(result).empty()) continue;
    if (version > refused.cudnn_version) return version;
    earlier = version;
  }
  return earlier;
}

ChosenGpu gpu_of(const TextFacts& facts) {
  const std::string named = facts.target();
  ChosenGpu gpu{gpu::simulated_targets(named.empty() ? usual_gpu : named).front(), !named.empty(), false};
  const bool has_sm = !facts.sms.empty() && std::ranges::any_of(gpu::catalogue(), [&](const gpu::Target& one) {
    return one.sm == facts.sms.front();
  });
  constexpr int first_with_attention = 80;
  if (!named.empty() || facts.sms.empty() || has_sm || facts.sms.front() >= first_with_attention) return gpu;
  gpu.target = gpu::simulated_targets("t4").front();
  gpu.target.sm = facts.sms.front();
  gpu.target.id = fmt::format("sm_{}", gpu.target.sm);
  gpu.is_named = gpu.is_old = true;
  return gpu;
}

std::vector<answer::Answer> put(const std::vector<answer::Question>& questions, const std::vector<gpu::Target>& targets,
                                const TextFacts& facts, const std::vector<rules::ChosenGate>& gates,
                                const AskWith& with) {
  const std::string version = version_of(facts);
  asking::Plan plan{.groups = {{questions, targets}},
                    .cudnn = version,
                    .options = options_for(gates),
                    .further = asking::Further::ways_out};
  const std::string pinned = version.empty() ? rules::cudnn_of(gates).value_or("") : "";
  const auto by_rule = [&] {
    const std::string& word = version.empty() ? pinned : version;
    plan.by_rule = asking::named_version(word).value_or(asking::newest_version());
    return asking::ask(plan).front().results;
  };
  // Another cuDNN than the release's own has other rules and bugs.
  const bool is_pin_missing = asking::named_version(pinned) && !cudnn::find_version(pinned);
  if (!with.cudnn || is_pin_missing) return by_rule();
  try {
    auto results = asking::ask(plan, {.program = with.program}).front().results;
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

}  // namespace attnprobe::explain
