#include "studies/suggest/suggested.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ask/further/changes.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "gpu/catalogue.hpp"

namespace attnprobe::studies {
namespace {

std::vector<std::string> other_gpus(const answer::Answer& refused, asking::PlanOptions options,
                                    const asking::Session& session) {
  options.walk.sweep_where_none = false;
  options.walk.until_works = true;
  options.walk.plans = probe::Plans::none;
  const asking::Plan plan{.groups = {{{refused}, gpu::simulated_targets("representative"), {refused.cudnn_path}}},
                          .options = std::move(options),
                          .further = asking::Further::nothing};
  std::vector<std::string> ids;
  const auto answers = asking::ask(plan, session);
  for (const auto& other : answers.front().results)
    if (other.usable == answer::Usable::yes && other.target.id != refused.target.id) ids.push_back(other.target.id);
  return ids;
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
  for (auto& result : answers.front().results) {
    const bool asks_others =
        result.usable && *result.usable != answer::Usable::yes && !is_kept("target") && !result.by_rule;
    auto gpus =
        asks_others && !session.is_stopped() ? other_gpus(result, plan.options, session) : std::vector<std::string>();
    all.push_back({std::move(result), std::move(gpus)});
  }
  return all;
}

}  // namespace attnprobe::studies
