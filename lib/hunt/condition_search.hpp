// The condition that tells failing problems from right ones, found from examples.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"

namespace attnprobe::hunt {

/// A flat problem (rules/flat_problem.hpp) and what became of it.
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

/// Parts that hold of every failing example and of which at least one is false for each right example; as few as a greedy
/// search finds. None where no conjunction of parts tells the examples apart. Precondition: some example fails.
std::optional<std::vector<Literal>> find_condition(const std::vector<Example>& examples);

/// The parts as one condition (rules/condition.hpp).
Json condition_of(const std::vector<Literal>& literals);

}  // namespace attnprobe::hunt
