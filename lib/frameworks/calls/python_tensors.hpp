// What PyTorch's and JAX's functions make of tensors, by their sizes alone. Internal to lib/frameworks/calls.
#pragma once

#include <optional>
#include <string>

#include "frameworks/calls/python_expression.hpp"

namespace attnprobe::frameworks {

/// What a function of torch or jax gives (randn, zeros_like, arange, tril, float, len, …); none: it is not known.
std::optional<PythonValue> call_function(const std::string& name, const PythonArguments& given,
                                         const std::string& default_dtype);

/// What a method of a tensor gives (transpose, view, to, size, …); none: it is not known.
std::optional<PythonValue> call_method(const PythonValue& tensor, const std::string& name,
                                       const PythonArguments& given);

/// tensor[None, :, 0]: the sizes that are left. A slice is the text ":".
PythonValue subscript_tensor(const PythonValue& tensor, const Json& indices);

/// Along its first axis, as an assignment to several names takes it apart; unknown where there are too many.
PythonValue parts_of(const PythonValue& tensor);

/// Of two operands, at least one a tensor.
PythonValue broadcast_values(const PythonValue& a, const PythonValue& b);

}  // namespace attnprobe::frameworks
