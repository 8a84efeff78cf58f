// A call as a program's source has it, with the tensors' sizes in it:
//   F.scaled_dot_product_attention(q[2, 32, 4096, 128], k[2, 8, 4096, 128], v[2, 8, 4096, 128], is_causal=True, dtype=torch.bfloat16)
//   scaled_dot_product_attention(torch.randn(2, 4096, 32, 128, dtype=torch.half).transpose(1, 2), …)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace attnprobe::frameworks {

/// Whether the text is a call of a function of this name, rather than a file's name or JSON.
bool is_python_call(std::string_view text, std::string_view function);

/// The call's arguments by name, as the readers of calls take them as JSON (call_reading.hpp). A tensor is a name with its sizes in
/// brackets, the sizes alone, or what torch, jax.numpy or jax.random make (randn, zeros, normal, …), and may be transposed, cast and
/// moved (transpose, half, to, requires_grad_, …). `positional`: the names of arguments without one. Throws Error(usage) that begins
/// with `place` and names the column and what is allowed.
Json read_python_call(std::string_view text, const std::string& place, const std::vector<std::string>& positional);

}  // namespace attnprobe::frameworks
