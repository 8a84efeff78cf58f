// Failures that stand near an attention and are not its own: the operation that failed is another one.
#pragma once

#include <optional>
#include <string_view>

#include "diagnose/refusal.hpp"

namespace attnprobe::diagnose {

/// The failure of another operation with which the text ends, by rule: an exception whose innermost line of source is one (torch.randn,
/// t.to(…), a matrix product of cuBLAS), a build that was killed, a kernel of Inductor's, a collective. None: there is no such.
std::optional<Refusal> read_other_failure(std::string_view text);

}  // namespace attnprobe::diagnose
