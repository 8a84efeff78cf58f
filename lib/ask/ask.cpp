#include "ask/ask.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "ask/by_rule.hpp"
#include "ask/chosen_libraries.hpp"
#include "ask/further/other_versions.hpp"
#include "ask/further/ways_out.hpp"
#include "ask/named_targets.hpp"
#include "ask/plain.hpp"
#include "base/error.hpp"
#include "base/version.hpp"
#include "worker/sanitize.hpp"

namespace attnprobe::asking {
namespace {

// If any target is a GPU of this machine, simulated targets end at the last stage that they support.
void check_can_run(const std::vector<QuestionGroup>& groups, const PlanOptions& options) {
  const bool sanitizes = !options.run.sanitizers.empty();
  if (sanitizes) worker::sanitizer_program();
  const bool runs = std::ranges::any_of(
      groups, [](const QuestionGroup& group) { return std::ranges::any_of(group.targets, can_run); });
  const auto plans = options.walk.plans;
  if (sanitizes && (!runs || !(probe::executes(plans) || plans == probe::Plans::automatic)))
    throw Error(ErrorKind::usage, "--sanitize needs plans that run; allowed: with --target device:0 and --plans run");
  if (runs || !probe::executes(plans)) return;
  throw Error(ErrorKind::usage,
              fmt::format("--plans {}: every target is simulated, and running plans needs a real GPU; allowed: none, "
                          "build, or a --target device:0",
                          name_of(plans)));
}

// Checks the groups and completes their questions before anything is asked.
void prepare(std::vector<QuestionGroup>& groups, const PlanOptions& options) {
  check_can_run(groups, options);
  for (auto& group : groups) {
    adopt_frontend(group.questions, options.frameworks);
    std::vector<attention::AttentionConfig> configs;
    for (const auto& question : group.questions) configs.push_back(question.config);
    check_expectations(configs, group.targets);
  }
}

// If no group has a real GPU, the named cuDNN may be too old to be asked, or not installed.
std::optional<CudnnVersion> version_without_library(const std::string& cudnn,
                                                    const std::vector<QuestionGroup>& groups) {
  for (const auto& group : groups)
    for (const auto& target : group.targets)
      if (target.kind != gpu::Kind::simulated) return std::nullopt;
  if (const auto too_old = version_by_rule(cudnn, {})) return too_old;
  for (const auto& group : groups)
    for (const auto& question : group.questions)
      if (!question.has_spec()) return std::nullopt;
  const bool is_here = !is_version(cudnn) || std::filesystem::exists(cudnn) || cudnn::find_version(cudnn);
  return is_here ? std::nullopt : named_version(cudnn);
}

void compile_where_one_is_asked(const std::vector<QuestionGroup>& groups, probe::WalkOptions& walk) {
  if (walk.plans != probe::Plans::automatic || cells_of(groups) != 1) return;
  for (const auto& group : groups)
    for (const auto& target : group.targets)
      if (target.kind == gpu::Kind::simulated) walk.plans = probe::Plans::first;
}

// If few results are refused, each is searched more thoroughly.
SuggestOptions how_to_suggest(const std::vector<Answer>& results) {
  constexpr std::ptrdiff_t few = 4;
  const auto refused = std::count_if(results.begin(), results.end(), [](const Answer& result) {
    return result.usable && *result.usable != Usable::yes;
  });
  SuggestOptions suggest;
  suggest.most = 2;
  suggest.compile = suggest.two_at_a_time = refused <= few;
  return suggest;
}

}  // namespace

std::vector<Answers> ask(const Plan& given, const Session& session, const OnAnswer& on_answer) {
  Plan plan = given;
  PlanOptions& options = plan.options;
  const bool is_whole = plan.further != Further::nothing, looks_further = is_whole && options.walk.sweep_where_none;
  const WholeSession whole(plan, session);
  if (is_whole) {
    prepare(plan.groups, options);
    if (!plan.by_rule) plan.by_rule = version_without_library(plan.cudnn, plan.groups);
  }
  name_libraries(plan);
  if (looks_further) compile_where_one_is_asked(plan.groups, options.walk);
  PlanOptions with_one_worker = options;
  with_one_worker.jobs = 1;
  std::function<void(Answer&)> add_ways_out;
  if (!plan.keeps && plan.suggest)
    add_ways_out = [&](Answer& answer) { advise(answer, with_one_worker, *whole, *plan.suggest); };
  const auto opened = looks_further && session.cache == nullptr ? usual_cache(session.on_problem) : nullptr;
  Session beside = *whole;
  beside.cache = opened ? opened.get() : session.cache;
  std::vector<Answers> all;
  size_t before = 0;
  for (const auto& group : plan.groups) {
    all.push_back(ask_group(group, plan, *whole, on_answer, before, add_ways_out));
    if (looks_further) {
      auto& results = all.back().results;
      if (plan.further == Further::other_versions) ask_other_versions(all.back(), given.options, beside);
      if (!plan.by_rule) advise(results, options, *whole, plan.suggest ? *plan.suggest : how_to_suggest(results));
    }
    before += cells_of({group});
  }
  return all;
}

}  // namespace attnprobe::asking
