// Python's operators on numbers, lists and tensors, within limits. Internal to lib/frameworks/calls.
#pragma once

#include <cstdint>
#include <string>

#include "frameworks/calls/python_expression.hpp"

namespace attnprobe::frameworks {

/// The largest value that is used further: a list can double with every line.
constexpr uint64_t largest_value = 4096;

/// 1 plus the elements at any depth. Beyond `largest_value`, or 16 levels, only some larger number.
uint64_t size_of_value(const PythonValue& value);

/// "+", "-", "*", "/", "//", "%", "**", "<<".
PythonValue arithmetic(const std::string& sign, const PythonValue& a, const PythonValue& b);

/// list * count; unknown if the result is too large.
PythonValue repeated_list(const PythonValue& list, int64_t count);

}  // namespace attnprobe::frameworks
