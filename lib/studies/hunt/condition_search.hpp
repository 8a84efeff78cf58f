// Finds a condition that separates failing from correct problems, given examples.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"

namespace attnprobe::hunt {

/// A flat problem (rules/flat_problem.hpp) and its outcome.
struct Example {
  Json problem;
  bool fails = false;
};

/// One part of a condition: {"head_dim_qk": {"min": 136}}.
struct Literal {
  std::string key;
  Json wanted;
  bool operator==(const Literal&) const = default;
};

bool holds(const Literal& literal, const Json& problem);

/// Literals that hold for every failing example, while at least one is false for each correct example; as few as a
/// greedy search finds. None if no conjunction separates the examples. Precondition: some example fails.
std::optional<std::vector<Literal>> find_condition(const std::vector<Example>& examples);

/// The literals as one condition (rules/condition.hpp).
Json condition_of(const std::vector<Literal>& literals);

}  // namespace attnprobe::hunt
