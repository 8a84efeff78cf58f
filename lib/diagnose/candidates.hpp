// Lists of kernels that were refused, each with its reasons, as xFormers prints them: "`cutlassF-pt` is not supported because: …".
#pragma once

#include <optional>
#include <string_view>

#include "diagnose/refusal.hpp"

namespace attnprobe::diagnose {

/// The candidate of such a list that is nearest to be taken: the one with the fewest reasons that a caller can do something about. None: the
/// text has no such list.
std::optional<Refusal> read_candidates(std::string_view text);

}  // namespace attnprobe::diagnose
