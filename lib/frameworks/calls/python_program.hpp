// Finds the program in a text such as a bug report. Internal to lib/frameworks/calls.
#pragma once

#include <string>
#include <string_view>

namespace attnprobe::frameworks {

/// The text with blank lines in place of those that are no Python: prose, tracebacks, fences, and lines whose open
/// bracket or quote would run together with the lines below. Prompts and the numbers of a listing are left out. At most
/// 20,000 lines and 300,000 bytes.
std::string program_in(std::string_view text);

}  // namespace attnprobe::frameworks
