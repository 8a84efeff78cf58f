// Evaluates Python expressions as far as the source determines them: integers, words, lists, and tensors by their
// sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "frameworks/calls/python_values.hpp"

namespace attnprobe::frameworks {

class PythonNode;  // python_syntax.hpp

/// The limit on values that one source's expressions create or copy, counting elements.
constexpr uint64_t most_values_of_a_source = 1'000'000;

struct PythonScope {
  std::map<std::string, PythonValue, std::less<>> names;  ///< "self.q" is also a name
  uint64_t values_left = most_values_of_a_source;
  std::string default_dtype = "float32";  ///< default type of tensors; "": unknown
  bool strict = false;                    ///< an unknown value is an error
  /// Called for each function call that is not a tensor's method. Returns the function's result, if known.
  std::function<PythonValue(const std::string& path, const PythonArguments& arguments, int64_t line)> on_call;

  /// An unknown value never replaces a known one, because it usually comes from another branch, not from a change.
  void set(std::string_view name, const PythonValue& value);
};

/// Throws Error(usage), which begins with the column, for an invalid expression, for too deep nesting, and when the
/// limit on values is reached. A value of more than 4,096 elements is unknown.
PythonValue evaluate(const PythonNode& expression, PythonScope& scope);
PythonValue evaluate(std::string_view expression, PythonScope& scope);

/// The arguments of a call, which is the whole text. Throws the same errors.
PythonArguments evaluate_arguments(std::string_view call, PythonScope& scope);

}  // namespace attnprobe::frameworks
