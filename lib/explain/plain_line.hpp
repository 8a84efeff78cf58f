// Cleans pasted lines: removes what terminals, launchers, quoting and web pages add around the words.
#pragma once

#include <string>
#include <string_view>

namespace attnprobe::explain {

/// The words of a line. Removes colour codes, quote marks ("> ", "| "), frames of rich's tracebacks, launcher prefixes
/// ("[rank0]:", "(EngineCore_DP0 pid=76)", a container's name, timestamps) and backticks. Decodes HTML entities,
/// escaped quotes and typographic quotes, and reduces white space to one blank. Removing too much does little harm,
/// because sentences match anywhere in a line.
std::string plain_line(std::string_view line);

}  // namespace attnprobe::explain
