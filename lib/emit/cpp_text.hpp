// Text that others wrote as a part of a program in C++.
#pragma once

#include <string>

namespace attnprobe::emit {

/// "// …", on one line whatever the text holds.
std::string cpp_comment(const std::string& text);

/// A raw string literal, R"json(…)json", that the text cannot end.
std::string cpp_raw_string(const std::string& text);

}  // namespace attnprobe::emit
