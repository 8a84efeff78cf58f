// Terminal escape sequences (ECMA-48: colours, positions, titles) in a text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace attnprobe {

/// The length of the escape sequence at the start of `text`. Precondition: `text` begins with ESC.
size_t escape_sequence_length(std::string_view text);

/// `text` without its escape sequences.
std::string without_escapes(std::string_view text);

}  // namespace attnprobe
