// Results of PyTorch's and JAX's functions on tensors, computed from sizes only. Internal to lib/frameworks/calls.
#pragma once

#include <optional>
#include <string>

#include "frameworks/calls/python_expression.hpp"

namespace attnprobe::frameworks {

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
