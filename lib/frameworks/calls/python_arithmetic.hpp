// What Python's operators make of numbers, lists and tensors, within bounds. Internal to lib/frameworks/calls.
#pragma once

#include <cstdint>
#include <string>

#include "frameworks/calls/python_expression.hpp"

namespace attnprobe::frameworks {

/// Of a value that is gone on with: lists may be multiplied, and double with every line.
constexpr uint64_t largest_value = 4096;

/// 1 and the elements, however deep; above `largest_value` only that it is more, which a value of more than 16 levels is, too.
uint64_t size_of_value(const PythonValue& value);

/// "+", "-", "*", "/", "//", "%", "**", "<<".
PythonValue arithmetic(const std::string& sign, const PythonValue& a, const PythonValue& b);

/// list * count; unknown where it would be too large.
PythonValue repeated_list(const PythonValue& list, int64_t count);

}  // namespace attnprobe::frameworks
