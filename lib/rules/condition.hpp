// Conditions as data: a small predicate language over a flat JSON object, such as a flat problem (flat_problem.hpp).
//
// A condition is a JSON object whose members must all hold:
//   {"pass": "bprop"}                      equality; null: the value is not set
//   {"seqlen_kv": {"above": 1024}}         operators, all of which must hold (table below)
//   {"all": […]}, {"any": […]}, {"not": {…}}
//
//   min, max, above, below                 >=, <=, >, <; the operand is a number or the name of another key
//   multiple_of, not_multiple_of           likewise
//   equal_to, not_equal_to                 another key
//   in, not                                one of several values; any value but this one
//   set                                    whether the value is set
//
// A value that is not set (null) fails every operator except "set": false and "not".
#pragma once

#include <string>

#include "base/json_reader.hpp"
#include "rules/flat_problem.hpp"

namespace attnprobe::rules {

/// Throws Error at the place of an unknown operator, an invalid value, or a key that is not in `keys`.
void check_condition(const JsonView& condition, const std::vector<ProblemKey>& keys = problem_keys());

/// Preconditions: check_condition(condition) passed; `problem` has a value, or null, for every key.
bool holds(const Json& condition, const Json& problem);

/// Whether it can hold if only these keys are known. Precondition: check_condition(condition) passed.
bool may_hold(const Json& condition, const Json& known);

}  // namespace attnprobe::rules
