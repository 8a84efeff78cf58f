#include "ask/plain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "ask/by_rule.hpp"
#include "ask/chosen_libraries.hpp"
#include "ask/reproduce.hpp"
#include "ask/schedule.hpp"
#include "worker/pool.hpp"

namespace attnprobe::asking {
namespace {

// Adds advice that needs no further probe: the targets of this run that support a refused question.
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

}  // namespace

struct WholeSession::Own {
  worker::Pool pool;  // follow-up questions about a refusal go to the same worker
  LibraryWords words;
};

WholeSession::WholeSession(const Plan& plan, const Session& given)
    : own_(new Own{worker::Pool(2 * jobs_of(plan.options)), {}}), session_(given) {
  if (session_.pool == nullptr && (plan.keeps || plan.suggest)) session_.pool = &own_->pool;
  if (session_.words == nullptr) session_.words = &own_->words;
  if (!plan.cached) session_.cache = nullptr;
}

WholeSession::~WholeSession() = default;

void name_libraries(Plan& plan) {
  if (plan.by_rule || std::ranges::none_of(plan.groups, [](const auto& group) { return group.cudnns.empty(); })) return;
  const std::string cudnn = library_path(plan.cudnn, plan.options.frameworks).string();
  for (auto& group : plan.groups)
    if (group.cudnns.empty()) group.cudnns = {cudnn};
}

Answers ask_group(const QuestionGroup& group, const Plan& plan, const Session& session, const OnAnswer& on_answer,
                  size_t before, const std::function<void(Answer&)>& add_ways_out) {
  if (plan.by_rule)
    return answer_by_rule(group.questions, group.targets, *plan.by_rule, plan.options, on_answer, before);
  const auto places = group.cells ? *group.cells : places_of(group);
  const size_t questions = group.questions.size(), targets = group.targets.size();
  Answers answers;
  std::vector<char> is_finished(plan.keeps ? places.size() : 0);
  answers.results.resize(is_finished.size());
  std::mutex mutex;
  const auto libraries = ask_cells(group, places, plan.options, session, [&](size_t at, Answer&& answer) {
    if (!plan.keeps) {
      if (add_ways_out) add_ways_out(answer);
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

std::vector<Answers> ask_plainly(const Plan& given, const Session& session, const OnAnswer& on_answer) {
  Plan plan = given;
  const WholeSession whole(plan, session);
  name_libraries(plan);
  std::vector<Answers> all;
  size_t before = 0;
  for (const auto& group : plan.groups) {
    all.push_back(ask_group(group, plan, *whole, on_answer, before));
    before += cells_of({group});
  }
  return all;
}

}  // namespace attnprobe::asking
