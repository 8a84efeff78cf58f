// A short name for a text of any length.
#pragma once

#include <string>
#include <string_view>

namespace attnprobe {

/// 32 hexadecimal digits (XXH3, 128 bits): texts that differ have others, as long as nobody makes them on purpose.
std::string digest(std::string_view text);

}  // namespace attnprobe
