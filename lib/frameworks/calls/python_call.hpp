// A call in source syntax, with the sizes of its tensors:
//   F.scaled_dot_product_attention(q[2, 32, 4096, 128], k[2, 8, 4096, 128], v[2, 8, 4096, 128], is_causal=True,
//   dtype=torch.bfloat16)
//   scaled_dot_product_attention(torch.randn(2, 4096, 32, 128, dtype=torch.half).transpose(1, 2), …)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace attnprobe::frameworks {

/// Whether the text is a call of that function, rather than a file name or JSON.
bool is_python_call(std::string_view text, std::string_view function);

/// The call's arguments by name, in the JSON form of call_reading.hpp. A tensor is a name with sizes in brackets, only
/// sizes, or the result of a function of torch, jax.numpy or jax.random (randn, zeros, normal, …). It may be
/// transposed, cast and moved (transpose, half, to, requires_grad_, …). `positional`: the names of positional
/// arguments. Throws Error(usage) that begins with `place` and gives the column and what is allowed.
Json read_python_call(std::string_view text, const std::string& place, const std::vector<std::string>& positional);

}  // namespace attnprobe::frameworks
