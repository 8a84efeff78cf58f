// Escape sequences of terminals (ECMA-48: colours, positions, titles) in a text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace attnprobe {

/// The length of the one that `text` begins with. Precondition: it begins with ESC.
size_t escape_sequence_length(std::string_view text);

/// `text` without them.
std::string without_escapes(std::string_view text);

}  // namespace attnprobe
