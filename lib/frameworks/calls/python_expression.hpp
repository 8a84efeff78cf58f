// The value of a Python expression, as far as a reader of source can know it: whole numbers, words, lists, and tensors by their sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/json.hpp"

namespace attnprobe::frameworks {

/// A number, word, truth value or null as JSON; a list or tuple as an array; a tensor as the readers of calls take it
/// ({"shape", "dtype", "strides", "requires_grad"}); a name that stands for nothing known as {"path": "torch.randn"}; what is not
/// known as {"unknown": true}.
using PythonValue = Json;

PythonValue unknown_value();
bool is_known(const PythonValue& value);
bool is_tensor_value(const PythonValue& value);

struct PythonArguments {
  Json values = Json::array();
  Json named = Json::object();
};

/// How much the expressions of one source may compute altogether: values that are made or copied, each with its elements.
constexpr uint64_t most_values_of_a_source = 1'000'000;

struct PythonScope {
  std::map<std::string, PythonValue> names;
  uint64_t values_left = most_values_of_a_source;
  std::string default_dtype = "float32";  ///< of a tensor that is made without one; "": that is not said
  bool strict = false;                    ///< what is not known is an error
  /// Asked about each call of a function that is not a tensor's; gives what it returns where it knows.
  std::function<PythonValue(const std::string& path, const PythonArguments& arguments)> on_call;
};

/// Throws Error(usage) for what is not an expression, which begins with the column, for one that is nested too deeply, and
/// once the values of the scope are used up. Reads the whole text. A value of more than 4,096 elements is not known.
PythonValue evaluate(std::string_view expression, PythonScope& scope);

/// The arguments of a call: from the first bracket to the text's end. Throws likewise.
PythonArguments evaluate_arguments(std::string_view call, PythonScope& scope);

/// Counts a value that is made or copied, as long as there are values left: 1 and its elements, however deep.
void count_value(const PythonValue& value, PythonScope& scope);

}  // namespace attnprobe::frameworks
