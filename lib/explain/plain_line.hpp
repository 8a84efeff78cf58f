// Lines as people paste them: what terminals, launchers, quoting and web pages put around the words is taken off.
#pragma once

#include <string>
#include <string_view>

namespace attnprobe::explain {

/// The words of a line: without colour codes, marks of quoting ("> ", "| "), the frames of rich's tracebacks, a
/// launcher's prefix ("[rank0]:", "(EngineCore_DP0 pid=76)", a container's name, timestamps) and backticks; HTML
/// entities, escaped quotes and typographic quotes are the characters that they stand for, and white space is one blank.
/// A prefix that is taken for one by mistake costs little: sentences are searched anywhere in a line.
std::string plain_line(std::string_view line);

}  // namespace attnprobe::explain
