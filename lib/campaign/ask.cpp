#include "campaign/ask.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/version.hpp"
#include "campaign/by_rule.hpp"
#include "campaign/named_targets.hpp"
#include "campaign/other_versions.hpp"
#include "campaign/reproduce.hpp"
#include "campaign/suggest/ways_out.hpp"
#include "worker/pool.hpp"
#include "worker/sanitize.hpp"

namespace attnprobe::campaign {
namespace {

// Where some target is a GPU of this machine, simulated ones beside it get as far as they can.
void check_can_run(const std::vector<QuestionGroup>& groups, const PlanOptions& options) {
  const bool sanitizes = !options.run.sanitizers.empty();
  if (sanitizes) worker::sanitizer_program();
  bool runs = false;
  for (const auto& group : groups)
    for (const auto& target : group.targets) runs = runs || can_run(target);
  const auto plans = options.walk.plans;
  if (sanitizes && (!runs || !(probe::executes(plans) || plans == probe::Plans::automatic)))
    throw Error(
        ErrorKind::usage,
        "--sanitize executes plans, and none is executed here; it needs a --target device:0 and no --plans but run");
  if (runs || !probe::executes(plans)) return;
  throw Error(ErrorKind::usage,
              fmt::format("--plans {}: every target is simulated, and running plans needs a real GPU; allowed: none, "
                          "build, or a --target device:0",
                          name_of(plans)));
}

// Where no GPU of any group is a real one, a cuDNN may be named that is too old to be asked, or not here.
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
  if (walk.plans != probe::Plans::automatic || !walk.sweep_where_none || cells_of(groups) != 1) return;
  for (const auto& group : groups)
    for (const auto& target : group.targets)
      if (target.kind == gpu::Kind::simulated) walk.plans = probe::Plans::first;
}

// Where few results are refused, more is tried for each.
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

size_t cells_of(const std::vector<QuestionGroup>& groups) {
  size_t count = 0;
  for (const auto& group : groups) count += group.questions.size() * group.targets.size();
  return count;
}

std::vector<Answers> ask(const Plan& plan, const Session& given, const OnAnswer& on_answer) {
  std::vector<QuestionGroup> groups = plan.groups;
  for (auto& group : groups) adopt_frontend(group.questions, plan.options.frameworks);
  PlanOptions options = plan.options;
  Session session = given;
  // What is asked about a no goes to the worker that said it.
  worker::Pool pool(2 * jobs_of(options));
  if (session.pool == nullptr) session.pool = &pool;
  LibraryWords words;
  if (session.words == nullptr) session.words = &words;
  check_can_run(groups, options);
  for (const auto& group : groups) {
    std::vector<attention::AttentionConfig> configs;
    for (const auto& question : group.questions) configs.push_back(question.config);
    check_expectations(configs, group.targets);
  }
  const auto by_rule = plan.by_rule ? plan.by_rule : version_without_library(plan.cudnn, groups);
  const bool looks_further = options.walk.sweep_where_none;
  const auto opened = looks_further && session.cache == nullptr ? usual_cache(session.on_problem) : nullptr;
  Session beside = session;
  if (opened) beside.cache = opened.get();
  session.cache = nullptr;  // the question itself is always asked of cuDNN
  const std::string cudnn = by_rule ? "" : library_path(plan.cudnn, options.frameworks).string();
  const PlanOptions uncompiled = options;
  compile_where_one_is_asked(groups, options.walk);
  std::vector<Answers> all;
  size_t before = 0;
  for (const auto& group : groups) {
    const auto on_result = [&](const Answer& result, size_t index, size_t) {
      if (on_answer) on_answer(result, before + index);
    };
    all.push_back(by_rule ? answer_by_rule(group.questions, group.targets, *by_rule, options, on_result)
                          : run_campaign(group.questions, group.targets, cudnn, options, session, on_result));
    if (looks_further) {
      auto& results = all.back().results;
      if (!by_rule) advise(results, options, session, plan.suggest ? *plan.suggest : how_to_suggest(results));
      if (plan.other_versions) ask_other_versions(all.back(), uncompiled, beside);
    }
    before += group.questions.size() * group.targets.size();
  }
  return all;
}

}  // namespace attnprobe::campaign
