// A short name for a text of any length.
#pragma once

#include <string>
#include <string_view>

namespace attnprobe {

/// 32 hexadecimal digits (XXH3, 128 bits). Different texts get different digests, unless a collision is made on
/// purpose.
std::string digest(std::string_view text);

}  // namespace attnprobe
