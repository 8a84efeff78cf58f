#include "studies/audit/audit_values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace attnprobe::studies {
namespace {

// A comparison of a key with a number in a condition.
struct NumberCompared {
  std::string key, word;
  double number = 0;
  bool turned = false;  // inside a "not"
};

// All comparisons except those of versions and GPUs, which a call cannot change.
void add_comparisons(const Json& condition, bool turned, std::vector<NumberCompared>& found) {
  for (const auto& [key, value] : condition.items()) {
    if (value.is_array()) {
      for (const auto& part : value) add_comparisons(part, turned, found);
    } else if (key == "not" || key == "all" || key == "any") {
      add_comparisons(value, turned != (key == "not"), found);
    } else if (value.is_object() && key != "cudnn" && key != "sm") {
      for (const auto& [word, operand] : value.items())
        if ((word == "above" || word == "below" || word == "min" || word == "max") && operand.is_number())
          found.push_back({key, word, operand.get<double>(), turned});
    }
  }
}

std::vector<NumberCompared> comparisons_of(const rules::FrameworkRule& rule) {
  std::vector<NumberCompared> found;
  add_comparisons(rule.when, false, found);
  return found;
}

bool is_upper(const NumberCompared& one) {
  return one.word == "above" || one.word == "min";
}

bool refuses(const NumberCompared& one, double value) {
  if (one.word == "above") return value > one.number;
  if (one.word == "min") return value >= one.number;
  return one.word == "below" ? value < one.number : value <= one.number;
}

// Whether cuDNN refuses because of a number, not because of a missing feature.
bool is_too_large_or_small(const answer::Answer& result) {
  using answer::Category;
  if (!result.root_cause) return false;
  const Category category = result.root_cause->category;
  return category == Category::head_dim || category == Category::sequence_length || category == Category::heads ||
         category == Category::shape || category == Category::shared_memory;
}

// The limit nearest to a refused value; none if the rule has limits of both kinds, or exceptions by size.
const NumberCompared* limit_before(const std::vector<NumberCompared>& compared, const std::string& key,
                                   double refused) {
  const NumberCompared* nearest = nullptr;
  const NumberCompared* first = nullptr;
  for (const auto& one : compared) {
    if (one.key != key) continue;
    if (one.turned || (first != nullptr && is_upper(one) != is_upper(*first))) return nullptr;
    if (first == nullptr) first = &one;
    const bool is_nearer =
        nearest == nullptr || (is_upper(one) ? one.number > nearest->number : one.number < nearest->number);
    if (refuses(one, refused) && is_nearer) nearest = &one;
  }
  return nearest;
}

std::string refused_by(const NumberCompared& one) {
  if (one.word == "min") return fmt::format("from {} on", one.number);
  if (one.word == "max") return fmt::format("up to {}", one.number);
  return fmt::format("{} {}", one.word, one.number);
}

// GPUs with the same limit for a key share a proposal.
void add_target(std::vector<ProposedLimit>& proposals, const ProposedLimit& one) {
  const auto same = std::find_if(proposals.begin(), proposals.end(), [&](const auto& known) {
    return known.keys == one.keys && known.direction == one.direction && known.limit == one.limit &&
           known.now == one.now && known.end_found == one.end_found;
  });
  if (same == proposals.end())
    proposals.push_back(one);
  else
    same->targets.push_back(one.targets.front());
}

// Keys with the same limit on the same GPUs share a proposal.
std::vector<ProposedLimit> with_keys_joined(const std::vector<ProposedLimit>& proposals) {
  std::vector<ProposedLimit> joined;
  for (const auto& one : proposals) {
    const auto same = std::find_if(joined.begin(), joined.end(), [&](const auto& known) {
      return known.direction == one.direction && known.limit == one.limit && known.now == one.now &&
             known.end_found == one.end_found && known.targets == one.targets;
    });
    if (same == joined.end())
      joined.push_back(one);
    else
      same->keys.push_back(one.keys.front());
  }
  return joined;
}

void widen(std::optional<std::pair<double, double>>& range, double value) {
  if (!range) range.emplace(value, value);
  range->first = std::min(range->first, value);
  range->second = std::max(range->second, value);
}

}  // namespace

void RuleValues::add(const rules::FrameworkRule& rule, const answer::Answer& result, bool works) {
  if (!works && !is_too_large_or_small(result)) return;
  const auto compared = comparisons_of(rule);
  if (compared.empty()) return;
  const Json problem = rules::describe_problem(result.config.spec, result.cudnn_version, result.target.sm);
  const std::string direction = is_bprop(result.config.spec) ? "backward" : "forward";
  std::set<std::string> keys;  // the keys whose value is refused
  for (const auto& one : compared)
    if (problem.contains(one.key) && problem[one.key].is_number() && refuses(one, problem[one.key].get<double>()))
      keys.insert(one.key);
  for (const auto& key : keys) {
    Seen& seen = seen_[{key, direction}][result.target.id];
    widen(works ? seen.works : seen.fails, problem[key].get<double>());
  }
}

std::vector<std::string> RuleValues::taken() const {
  std::vector<std::string> texts;
  for (const auto& [what, by_target] : seen_) {
    std::map<std::pair<double, double>, std::vector<std::string>> targets;  // GPUs with the same values are grouped
    for (const auto& [target, seen] : by_target)
      if (seen.works) targets[*seen.works].push_back(target);
    for (const auto& [range, ids] : targets)
      texts.push_back(fmt::format("{} {}{} {} on {}", what.first, range.first,
                                  range.first == range.second ? "" : fmt::format(" to {}", range.second), what.second,
                                  fmt::join(ids, ", ")));
  }
  return texts;
}

std::vector<ProposedLimit> RuleValues::proposals(const rules::FrameworkRule& rule) const {
  const auto compared = comparisons_of(rule);
  std::vector<ProposedLimit> proposals;
  for (const auto& [what, by_target] : seen_) {
    const std::string& key = what.first;
    for (const auto& [target, seen] : by_target) {
      if (!seen.works) continue;
      const bool upper = std::any_of(compared.begin(), compared.end(),
                                     [&](const auto& one) { return one.key == key && is_upper(one); });
      const auto [first, last] = upper ? *seen.works : std::pair{seen.works->second, seen.works->first};
      const NumberCompared* now = limit_before(compared, key, first);
      if (now == nullptr || (seen.fails && (upper ? seen.fails->first <= last : seen.fails->second >= last))) continue;
      add_target(proposals, {{key}, what.second, upper, refused_by(*now), last, seen.fails.has_value(), {target}});
    }
  }
  return with_keys_joined(proposals);
}

std::string text_of(const ProposedLimit& proposal) {
  return fmt::format("{} {} {} instead of {}, {} on {}; {}", fmt::join(proposal.keys, " and "),
                     proposal.upper ? "above" : "below", proposal.limit, proposal.now, proposal.direction,
                     fmt::join(proposal.targets, ", "),
                     proposal.end_found ? "cuDNN refused every value asked beyond it" : "no value beyond it was asked");
}

Json to_json(const ProposedLimit& proposal) {
  return {
      {"keys", proposal.keys},      {"direction", proposal.direction}, {"refuse", proposal.upper ? "above" : "below"},
      {"now", proposal.now},        {"limit", proposal.limit},         {"end_found", proposal.end_found},
      {"targets", proposal.targets}};
}

}  // namespace attnprobe::studies
