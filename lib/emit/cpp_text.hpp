// Makes foreign text safe inside a C++ program.
#pragma once

#include <string>

namespace attnprobe::emit {

/// "// …", on one line for any text.
std::string cpp_comment(const std::string& text);

/// A raw string literal, R"json(…)json", that no text can end early.
std::string cpp_raw_string(const std::string& text);

}  // namespace attnprobe::emit
