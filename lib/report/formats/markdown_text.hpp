// Text that others wrote as a part of a Markdown page.
#pragma once

#include <string>

namespace attnprobe::report {

/// In a paragraph or a cell of a table, on one line: it reads as it is and is neither HTML, a link (bare addresses
/// included), an image, code, emphasis nor a further cell.
std::string markdown_text(const std::string& text);

/// As code, whatever backticks it holds.
std::string markdown_code(const std::string& text);

}  // namespace attnprobe::report
