#include "studies/suggest/suggested.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ask/ask.hpp"
#include "ask/further/changes.hpp"
#include "attention/fields.hpp"
#include "base/add_once.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "gpu/catalogue.hpp"

namespace attnprobe::studies {
namespace {

// The GPUs' answers to a refused question, and to other models.
struct Elsewhere {
  std::set<std::string> unchanged;
  std::vector<OtherModel> models;  // nearest first
};

Elsewhere ask_elsewhere(const answer::Answer& refused, std::vector<gpu::Target> targets, asking::Plan plan,
                        const asking::Session& session) {
  const auto is_kept = [&](const char* kind) { return plan.suggest->keep.count(kind) != 0; };
  if (!is_kept("target"))
    for (const auto& target : gpu::simulated_targets("representative"))
      if (std::ranges::find(targets, target.id, &gpu::Target::id) == targets.end()) targets.push_back(target);
  std::vector<asking::Question> questions{refused};
  if (refused.has_spec() && !is_kept("model") && !is_kept("head_dim"))
    for (const auto& model : asking::other_models(refused.config.spec)) {
      asking::Question question = refused;
      question.given.reset();
      question.command.clear();
      model.make(question.config.spec);
      if (contradictions(question.config.spec).empty()) questions.push_back(std::move(question));
    }
  plan.options.walk.sweep_where_none = false;
  plan.options.walk.until_works = true;
  plan.options.walk.plans = probe::Plans::none;
  plan.groups = {{questions, std::move(targets), {refused.cudnn_path}}};
  plan.suggest.reset();
  plan.further = asking::Further::nothing;
  const auto answers = asking::ask(plan, session).front().results;
  Elsewhere elsewhere;
  for (const auto& question : questions) {
    const auto& spec = question.config.spec;
    elsewhere.models.push_back({spec.head_dim_qk, spec.head_dim_v, {}});
  }
  const size_t gpus = plan.groups.front().targets.size();
  if (answers.size() != questions.size() * gpus) return {};  // it was stopped
  for (size_t i = 0; i < answers.size(); ++i)
    if (answers[i].usable == answer::Usable::yes) elsewhere.models[i / gpus].gpus.push_back(answers[i].target.id);
  const auto& same = elsewhere.models.front().gpus;
  elsewhere.unchanged = {same.begin(), same.end()};
  elsewhere.models.erase(elsewhere.models.begin());
  return elsewhere;
}

// The nearest shape that works on every GPU where any shape works, then nearer shapes for single GPUs.
std::vector<OtherModel> nearest(const Elsewhere& elsewhere, const std::string& target) {
  std::vector<std::string> reached;
  for (const auto& model : elsewhere.models)
    for (const auto& id : model.gpus) add_once(reached, id);
  if (std::ranges::find(reached, target) == reached.end()) return {};
  std::vector<OtherModel> found;
  for (const auto& model : elsewhere.models) {
    if (model.gpus.size() == reached.size()) {
      found.insert(found.begin(), model);
      break;
    }
    OtherModel nearer{model.head_dim_qk, model.head_dim_v, {}};
    for (const auto& id : model.gpus) {
      const auto has = [&](const OtherModel& other) { return std::ranges::find(other.gpus, id) != other.gpus.end(); };
      if (elsewhere.unchanged.count(id) == 0 && std::ranges::none_of(found, has)) nearer.gpus.push_back(id);
    }
    if (!nearer.gpus.empty()) found.push_back(std::move(nearer));
  }
  return found;
}

}  // namespace

std::set<std::string> read_kept(const std::vector<std::string>& words, const std::string& place) {
  const auto kinds = asking::change_kinds();
  std::set<std::string> kept;
  for (const auto& list : words)
    for (const auto& kind : split(list, ',')) {
      if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
        throw Error(ErrorKind::usage, fmt::format("{}: \"{}\" is not a kind of change{}; allowed: {}", place, kind,
                                                  did_you_mean(kind, kinds), quoted_list(kinds)));
      kept.insert(kind);
    }
  return kept;
}

std::vector<Suggested> suggest(asking::Plan plan, const asking::Session& session, const asking::OnAnswer& on_answer) {
  const auto is_kept = [&](const char* kind) { return plan.suggest->keep.count(kind) != 0; };
  if (is_kept("cudnn")) plan.further = asking::Further::ways_out;
  auto answers = asking::ask(plan, session, on_answer);
  std::vector<Suggested> all;
  // Targets share the answers of the other GPUs.
  std::map<std::string, Elsewhere> by_question;
  for (auto& result : answers.front().results) {
    Suggested suggested;
    const bool is_refused = result.usable && *result.usable != answer::Usable::yes && !result.by_rule;
    if (is_refused && !session.is_stopped()) {
      const std::string graph = result.given ? result.given->command : "";
      const auto [place, is_new] =
          by_question.try_emplace(to_json(result.config.spec).dump() + graph + result.cudnn_path);
      Elsewhere& elsewhere = place->second;
      if (is_new) elsewhere = ask_elsewhere(result, plan.groups.front().targets, plan, session);
      for (const auto& id : elsewhere.unchanged)
        if (id != result.target.id && !is_kept("target")) suggested.gpus.push_back(id);
      suggested.other_models = nearest(elsewhere, result.target.id);
    }
    suggested.result = std::move(result);
    all.push_back(std::move(suggested));
  }
  return all;
}

}  // namespace attnprobe::studies
