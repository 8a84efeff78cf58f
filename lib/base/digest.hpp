// A short digest of a text of any length.
#pragma once

#include <string>
#include <string_view>

namespace attnprobe {

/// 32 hexadecimal digits (XXH3, 128 bits). Different texts practically never share a digest, but a collision can be
/// constructed.
std::string digest(std::string_view text);

}  // namespace attnprobe
