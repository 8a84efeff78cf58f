#include "campaign/ask.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "base/error.hpp"
#include "base/version.hpp"
#include "campaign/by_rule.hpp"
#include "campaign/chosen_libraries.hpp"
#include "campaign/named_targets.hpp"
#include "campaign/other_versions.hpp"
#include "campaign/reproduce.hpp"
#include "campaign/schedule.hpp"
#include "campaign/suggest/ways_out.hpp"
#include "worker/pool.hpp"
#include "worker/sanitize.hpp"

namespace attnprobe::campaign {
namespace {

// If some target is a GPU of this machine, simulated ones with it go as far as they can.
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

// If few results are refused, each gets a longer search.
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

// Which other targets of this very run support what was asked: advice that needs no further probing.
void name_supporting_targets(std::vector<Answer>& results, size_t target_count) {
  for (size_t begin = 0; begin < results.size(); begin += target_count) {
    constexpr int64_t most = 6;
    std::string supporting;
    int64_t count = 0;
    for (size_t i = begin; i < begin + target_count; ++i)
      if (results[i].verdict == Verdict::supported && ++count <= most)
        supporting += (supporting.empty() ? "" : ", ") + results[i].target.id;
    if (count > most) supporting += fmt::format(" and {} more", count - most);
    if (supporting.empty()) continue;
    for (size_t i = begin; i < begin + target_count; ++i)
      if (results[i].verdict == Verdict::unsupported)
        results[i].root_cause->advice.push_back(
            fmt::format("the same {} is supported on {}", results[i].given ? "graph" : "config", supporting));
  }
}

// Tells the answers of one group, and keeps them where the plan says so. `before`: the answers of the groups before it.
Answers ask_group(const QuestionGroup& group, const Plan& plan, const PlanOptions& options, const Session& session,
                  const OnAnswer& on_answer, size_t before) {
  const auto places = group.cells ? *group.cells : places_of(group);
  const size_t questions = group.questions.size(), targets = group.targets.size();
  Answers answers;
  std::vector<char> is_finished(plan.keeps ? places.size() : 0);
  answers.results.resize(is_finished.size());
  PlanOptions alone = options;  // for ways out: each answer's are asked by one more worker
  alone.jobs = 1;
  std::mutex mutex;
  const auto libraries = ask_cells(group, places, options, session, [&](size_t at, Answer&& answer) {
    if (!plan.keeps) {
      if (plan.suggest) advise(answer, alone, session, *plan.suggest);
      on_answer(answer, before + at);
      return;
    }
    const auto& [question, target, cudnn] = places[at];
    const size_t index = (cudnn * questions + question) * targets + target;
    const std::lock_guard lock(mutex);
    is_finished[index] = 1;
    answers.results[index] = std::move(answer);
    if (on_answer) on_answer(answers.results[index], before + index);
  });
  if (!libraries.empty()) answers.library = libraries.front();
  if (targets != 0) name_supporting_targets(answers.results, targets);
  size_t index = 0;
  std::erase_if(answers.results, [&](const Answer&) { return is_finished[index++] == 0; });
  return answers;
}

}  // namespace

std::vector<Answers> ask(const Plan& plan, const Session& given, const OnAnswer& on_answer) {
  std::vector<QuestionGroup> groups = plan.groups;
  PlanOptions options = plan.options;
  Session session = given;
  // Follow-up questions about a no go to the worker that gave it.
  worker::Pool pool(2 * jobs_of(options));
  LibraryWords words;
  if (session.pool == nullptr && (plan.keeps || plan.suggest)) session.pool = &pool;
  if (session.words == nullptr) session.words = &words;
  if (!plan.cached) session.cache = nullptr;
  const bool is_whole = plan.further != Further::nothing, looks_further = is_whole && options.walk.sweep_where_none;
  if (is_whole) prepare(groups, options);
  const auto by_rule = plan.by_rule || !is_whole ? plan.by_rule : version_without_library(plan.cudnn, groups);
  const auto opened = looks_further && given.cache == nullptr ? usual_cache(session.on_problem) : nullptr;
  Session beside = session;
  beside.cache = opened ? opened.get() : given.cache;
  const bool names_library = std::ranges::any_of(groups, [](const auto& group) { return group.cudnns.empty(); });
  const std::string cudnn = by_rule || !names_library ? "" : library_path(plan.cudnn, options.frameworks).string();
  if (looks_further) compile_where_one_is_asked(groups, options.walk);
  std::vector<Answers> all;
  size_t before = 0;
  for (auto& group : groups) {
    if (group.cudnns.empty()) group.cudnns = {cudnn};
    all.push_back(by_rule ? answer_by_rule(group.questions, group.targets, *by_rule, options, on_answer, before)
                          : ask_group(group, plan, options, session, on_answer, before));
    if (looks_further) {
      auto& results = all.back().results;
      if (!by_rule) advise(results, options, session, plan.suggest ? *plan.suggest : how_to_suggest(results));
      if (plan.further == Further::other_versions) ask_other_versions(all.back(), plan.options, beside);
    }
    before += cells_of({group});
  }
  return all;
}

}  // namespace attnprobe::campaign
