// PyTorch's warnings of one call, kernel by kernel: "Flash attention kernel not used because: …".
#pragma once

#include <optional>
#include <string_view>

#include "diagnose/refusal.hpp"

namespace attnprobe::diagnose {

/// What each kernel refuses, those that the program itself switched off apart. None: the text has no such warnings with a reason.
std::optional<Refusal> read_torch_kernels(std::string_view text);

}  // namespace attnprobe::diagnose
