// Python values as far as sizes depend on them, and the results of PyTorch's and JAX's functions on tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.hpp"

namespace attnprobe::frameworks {

/// A number, word, truth value or null as JSON; a list or tuple as an array. A tensor has the form of call_reading.hpp
/// ({"shape", "dtype", "strides", "requires_grad"}). An unresolved name is {"path": "torch.randn"}, an unknown value
/// {"unknown": true}, a dictionary {"unknown": true, "named": {…}}.
using PythonValue = Json;

PythonValue unknown_value();
bool is_known(const PythonValue& value);
bool is_tensor_value(const PythonValue& value);

struct PythonArguments {
  Json values = Json::array();
  Json named = Json::object();
};

/// Larger values become unknown, because a list can double with every line.
constexpr uint64_t largest_value = 4096;

/// 1 plus the number of elements at any depth. Beyond `largest_value` or 16 levels, any larger number.
uint64_t size_of_value(const PythonValue& value);

/// "+", "-", "*", "/", "//", "%", "**", "<<" of numbers, lists and tensors.
PythonValue arithmetic(const std::string& sign, const PythonValue& a, const PythonValue& b);

/// list * count; unknown if the result is too large.
PythonValue repeated_list(const PythonValue& list, int64_t count);

/// The result of a function of torch or jax (randn, zeros_like, arange, tril, float, len, …); none: unknown.
std::optional<PythonValue> call_function(const std::string& name, const PythonArguments& given,
                                         const std::string& default_dtype);

/// The result of a method of a tensor (transpose, view, to, size, …); none: unknown.
std::optional<PythonValue> call_method(const PythonValue& tensor, const std::string& name,
                                       const PythonArguments& given);

/// tensor[None, :, 0]: the remaining sizes. A slice is the text ":".
PythonValue subscript_tensor(const PythonValue& tensor, const Json& indices);

/// The parts along the first axis, as an assignment to several names unpacks them; unknown if there are too many.
PythonValue parts_of(const PythonValue& tensor);

/// Precondition: at least one operand is a tensor.
PythonValue broadcast_values(const PythonValue& a, const PythonValue& b);

}  // namespace attnprobe::frameworks
