// Foreign text made safe for a Markdown page.
#pragma once

#include <string>

namespace attnprobe::report {

/// For a paragraph or a table cell, on one line. It displays literally: no HTML, links (including bare addresses),
/// images, code, emphasis or additional cells.
std::string markdown_text(const std::string& text);

/// As code, even if it contains backticks.
std::string markdown_code(const std::string& text);

}  // namespace attnprobe::report
