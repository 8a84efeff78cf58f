// HTML parts for all pages of a site. Not installed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "site/answers.hpp"

namespace attnprobe::site {

/// Foreign text, made safe between tags or in a quoted attribute, on one line.
std::string escaped_html(std::string_view text);

/// A relative address, percent-encoded for a URL's path. Addresses use few characters; this is for "~".
std::string link(std::string_view address, std::string_view text);

/// JSON for a script element, in which parsers find no tag or comment.
std::string json_in_html(const Json& json);

/// The whole page. `root`: the relative path to the site's root: "", "../" or "../../". `body` is HTML, `title` is
/// text.
std::string page(const Axes& axes, std::string_view root, std::string_view title, std::string_view body);

/// One column per version, "9.8" to "9.28"; only the first and the last show their names.
std::string version_heads(const Axes& axes, std::string_view root);

/// The cells of a row: fields as wide as their runs. `address`: the start of the answer's address, to which the version
/// is appended.
std::string run_cells(const std::vector<Run>& runs, const Axes& axes, const std::string& address);

/// The word in its colour.
std::string word_badge(Word word);

/// The style of a Word, also in a table cell: "yes", "but", "no", "failed", "none".
std::string_view style_of(Word word);

/// A search field that site.js shows; it hides rows without its words.
std::string search_box(const std::string& what);

/// The answer of the newest of these versions: its word, and since which version.
std::string newest_text(const Answers& answers, const Axes& axes, size_t config, size_t target);

}  // namespace attnprobe::site
