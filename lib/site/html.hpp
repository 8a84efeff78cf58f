// Pieces of HTML that all pages of a site share. Not installed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "site/answers.hpp"

namespace attnprobe::site {

/// A text of others between tags or in a quoted attribute: it says what it holds, on one line, and does nothing.
std::string escaped_html(std::string_view text);

/// A relative address: what a URL's path cannot have is written in percent signs. Addresses are made of few letters; this is for "~".
std::string link(std::string_view address, std::string_view text);

/// JSON in a script element: no parser takes anything in it for a tag or a comment.
std::string json_in_html(const Json& json);

/// The whole page. `root`: how the site's root is reached from it, "" or "../" or "../../". `body` is HTML, `title` is text.
std::string page(const Axes& axes, std::string_view root, std::string_view title, std::string_view body);

/// A column for each version, "9.8" to "9.28", the first and the last of them with their names.
std::string version_heads(const Axes& axes, std::string_view root);

/// The cells of a row: a field as wide as the run is long. `address`: of a version's answer, followed by the version.
std::string run_cells(const std::vector<Run>& runs, const Axes& axes, const std::string& address);

/// The word in its colour.
std::string word_badge(Word word);

/// Of a Word, and of a cell in a table: "yes", "but", "no", "failed", "none".
std::string_view style_of(Word word);

/// A field that site.js shows and that hides the rows which lack its words.
std::string search_box(const std::string& what);

/// What the newest version of these says: its word, and since when.
std::string newest_text(const Answers& answers, const Axes& axes, size_t config, size_t target);

}  // namespace attnprobe::site
