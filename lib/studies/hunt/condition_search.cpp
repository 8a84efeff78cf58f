#include "studies/hunt/condition_search.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "rules/condition.hpp"
#include "rules/flat_problem.hpp"

namespace attnprobe::hunt {
namespace {

using rules::KeyKind;

// Keys that the hunt varies separately, or that do not affect kernels.
bool is_varied_elsewhere(const std::string& key) {
  return key == "cudnn" || key == "sm" || key == "frontend_release";
}

// Common tile sizes of kernels.
constexpr int64_t divisors[] = {8, 16, 32, 64, 128, 256};
bool is_tiled(const std::string& key) {
  return key.starts_with("seqlen") || key.starts_with("head_dim") || key == "page_tokens";
}

// Sizes that kernels compare with each other.
constexpr const char* related[][2] = {
    {"head_dim_qk", "head_dim_v"}, {"seqlen_q", "seqlen_kv"}, {"heads_q", "heads_kv"}, {"window_left", "seqlen_kv"}};

struct Range {
  double least = std::numeric_limits<double>::infinity(), most = -std::numeric_limits<double>::infinity();
};

class Literals {
 public:
  explicit Literals(const std::vector<Example>& examples) {
    for (const auto& example : examples) (example.fails ? failing_ : right_).push_back(&example.problem);
    for (const auto& key : rules::problem_keys()) {
      if (is_varied_elsewhere(key.name)) continue;
      add_words(key.name);
      if (key.kind == KeyKind::number) add_numbers(key.name);
    }
    for (const auto& [one, other] : related)
      for (const char* operation : {"equal_to", "not_equal_to", "above", "below"}) add(one, {{operation, other}});
  }

  std::vector<Literal> take() { return std::move(literals_); }

 private:
  void add(const std::string& key, Json wanted) {
    Literal literal{key, std::move(wanted)};
    const bool always =
        std::all_of(failing_.begin(), failing_.end(), [&](const Json* problem) { return holds(literal, *problem); });
    if (always) literals_.push_back(std::move(literal));
  }

  void add_words(const std::string& key) {
    std::set<Json> values;
    for (const Json* problem : failing_) values.insert(problem->at(key));
    if (values.size() == 1) add(key, *values.begin());
    if (!values.contains(Json())) add(key, {{"set", true}});
    if (values.begin()->is_string() && values.size() > 1 && values.size() < 4)
      add(key, {{"in", Json(std::vector<Json>(values.begin(), values.end()))}});
  }

  // Starts with bounds at the failing value; the search then asks about values between it and the next correct value.
  void add_numbers(const std::string& key) {
    Range range;
    for (const Json* problem : failing_) {
      const Json& value = problem->at(key);
      if (value.is_null()) return;
      range.least = std::min(range.least, value.get<double>());
      range.most = std::max(range.most, value.get<double>());
    }
    const bool is_whole = failing_.front()->at(key).is_number_integer();
    const auto number = [&](double value) { return is_whole ? Json(static_cast<int64_t>(value)) : Json(value); };
    add(key, {{"min", number(range.least)}});
    add(key, {{"max", number(range.most)}});
    for (const int64_t divisor : divisors) {
      if (!is_whole || !is_tiled(key)) break;
      add(key, {{"multiple_of", divisor}});
      add(key, {{"not_multiple_of", divisor}});
    }
  }

  std::vector<const Json*> failing_, right_;
  std::vector<Literal> literals_;
};

// The right examples for which each literal is false.
using Excluded = std::vector<std::set<size_t>>;

Excluded excluded_by(const std::vector<Literal>& literals, const std::vector<const Json*>& right) {
  Excluded excluded(literals.size());
  for (size_t l = 0; l < literals.size(); ++l)
    for (size_t r = 0; r < right.size(); ++r)
      if (!holds(literals[l], *right[r])) excluded[l].insert(r);
  return excluded;
}

size_t count_of(const std::set<size_t>& of, const std::set<size_t>& open) {
  return static_cast<size_t>(std::count_if(of.begin(), of.end(), [&](size_t r) { return open.contains(r); }));
}

// Literals that together exclude every right example, found greedily. The right example that the fewest literals
// exclude is the most restrictive, so it is handled first.
std::optional<std::vector<size_t>> cover(const Excluded& excluded, size_t right) {
  std::vector<size_t> excluders(right, 0);
  for (const auto& of_one : excluded)
    for (const size_t r : of_one) ++excluders[r];
  std::set<size_t> open;
  for (size_t r = 0; r < right; ++r) open.insert(r);
  std::vector<size_t> chosen;
  while (!open.empty()) {
    const size_t hardest =
        *std::min_element(open.begin(), open.end(), [&](size_t a, size_t b) { return excluders[a] < excluders[b]; });
    std::optional<size_t> best;
    for (size_t l = 0; l < excluded.size(); ++l)
      if (excluded[l].contains(hardest) && (!best || count_of(excluded[l], open) > count_of(excluded[*best], open)))
        best = l;
    if (!best) return std::nullopt;
    chosen.push_back(*best);
    for (const size_t r : excluded[*best]) open.erase(r);
  }
  return chosen;
}

// Replaces each literal with the loosest one that also works, with the same key or a plain value of another key. A
// looser literal claims more, so new configs can disprove it.
void loosen(std::vector<size_t>& chosen, const std::vector<Literal>& literals, const Excluded& excluded, size_t right) {
  const auto may_replace = [&](size_t l, size_t old) {
    return literals[l].key == literals[old].key || !literals[l].wanted.is_object();
  };
  for (size_t i = 0; i < chosen.size();) {
    std::set<size_t> needed;
    for (size_t r = 0; r < right; ++r)
      if (std::none_of(chosen.begin(), chosen.end(),
                       [&](size_t l) { return l != chosen[i] && excluded[l].contains(r); }))
        needed.insert(r);
    if (needed.empty()) {
      chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    for (size_t l = 0; l < excluded.size(); ++l)
      if (may_replace(l, chosen[i]) && excluded[l].size() < excluded[chosen[i]].size() &&
          count_of(needed, excluded[l]) == needed.size())
        chosen[i] = l;
    ++i;
  }
}

}  // namespace

bool holds(const Literal& literal, const Json& problem) {
  return rules::holds({{literal.key, literal.wanted}}, problem);
}

std::optional<std::vector<Literal>> find_condition(const std::vector<Example>& examples) {
  const std::vector<Literal> literals = Literals(examples).take();
  std::vector<const Json*> right;
  for (const auto& example : examples)
    if (!example.fails) right.push_back(&example.problem);
  const Excluded excluded = excluded_by(literals, right);
  auto chosen = cover(excluded, right.size());
  if (!chosen) return std::nullopt;
  loosen(*chosen, literals, excluded, right.size());
  std::vector<Literal> found;
  for (const size_t l : *chosen) found.push_back(literals[l]);
  return found;
}

Json condition_of(const std::vector<Literal>& literals) {
  Json condition = Json::object();
  for (const auto& [key, wanted] : literals) {
    Json& known = condition[key];
    if (known.is_object() && wanted.is_object())
      known.update(wanted);
    else if (!known.is_object() || !wanted.is_object())
      known = wanted;
  }
  return condition;
}

}  // namespace attnprobe::hunt
