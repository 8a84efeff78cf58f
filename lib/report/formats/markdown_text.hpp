// Foreign text made safe for a Markdown page.
#pragma once

#include <string>

namespace attnprobe::report {

/// For a paragraph or a table cell, on one line. It displays literally: no HTML, link (bare addresses included), image,
/// code, emphasis or additional cell.
std::string markdown_text(const std::string& text);

/// As code, with any backticks in it.
std::string markdown_code(const std::string& text);

}  // namespace attnprobe::report
