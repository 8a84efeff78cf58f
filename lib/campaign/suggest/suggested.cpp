#include "campaign/suggest/suggested.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "campaign/suggest/changes.hpp"
#include "gpu/catalogue.hpp"

namespace attnprobe::campaign {
namespace {

std::vector<std::string> other_gpus(const Answer& refused, PlanOptions options, const Session& session) {
  options.walk.sweep_where_none = false;
  options.walk.until_works = true;
  options.walk.plans = probe::Plans::none;
  const Plan plan{.groups = {{{refused}, gpu::simulated_targets("representative"), {refused.cudnn_path}}},
                  .options = std::move(options),
                  .further = Further::nothing};
  std::vector<std::string> ids;
  const auto answers = ask(plan, session);
  for (const auto& other : answers.front().results)
    if (other.usable == Usable::yes && other.target.id != refused.target.id) ids.push_back(other.target.id);
  return ids;
}

}  // namespace

std::set<std::string> read_kept(const std::vector<std::string>& words, const std::string& place) {
  const auto kinds = change_kinds();
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

std::vector<Suggested> suggest(Plan plan, const Session& session, const OnAnswer& on_answer) {
  const auto is_kept = [&](const char* kind) { return plan.suggest->keep.count(kind) != 0; };
  if (is_kept("cudnn")) plan.further = Further::ways_out;
  auto answers = ask(plan, session, on_answer);
  std::vector<Suggested> all;
  for (auto& result : answers.front().results) {
    const bool asks_others = result.usable && *result.usable != Usable::yes && !is_kept("target") && !result.by_rule;
    auto gpus =
        asks_others && !session.is_stopped() ? other_gpus(result, plan.options, session) : std::vector<std::string>();
    all.push_back({std::move(result), std::move(gpus)});
  }
  return all;
}

}  // namespace attnprobe::campaign
