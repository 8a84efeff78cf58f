// Finds the program in a text such as a bug report. Internal to lib/frameworks/calls.
#pragma once

#include <string>
#include <string_view>

namespace attnprobe::frameworks {

/// The text with a blank line for each line that is not Python: prose, tracebacks, fences. Also blanks a line if its
/// open bracket or quote would join it with the lines below. Removes prompts and the line numbers of a listing. Reads
/// at most 20,000 lines and 300,000 bytes.
std::string program_in(std::string_view text);

}  // namespace attnprobe::frameworks
