// Makes foreign text (configs, logs, libraries) safe to print, so that it cannot control a terminal or a CI system.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace attnprobe {

/// For a terminal, a CI log or a text report. Escapes control characters except newline and tab, as "\x1b", and bytes
/// that are not UTF-8. Also escapes characters that are invisible or change the writing direction (Trojan Source).
/// Escapes the first character of a CI command: "::" at the start of a line, "##[" and the like anywhere. Only
/// coloured() and linked() can produce colours and links.
std::string printable(std::string_view text);

/// The same on one line: escapes newlines and tabs too.
std::string printable_line(std::string_view text);

/// `text` between the codes of a colour, "1;32" for bold green. Foreign text cannot forge the codes: until printable()
/// converts them, they begin with a mark that is random per process.
std::string coloured(std::string_view text, std::string_view codes);

/// `text` as a hyperlink of a terminal (OSC 8). Precondition: the address has no control characters.
std::string linked(std::string_view text, std::string_view address);

/// The length of the code of coloured() or linked() that begins at `at`, or 0.
size_t colour_length(std::string_view text, size_t at);

/// Where the documentation is published, with a slash at its end; "" if this build does not know.
std::string_view documentation_site();

/// An id that the program prints (a reason, rule, bug or message). On a terminal it is a link to its explanation, if
/// `site` is known.
std::string linked_id(const std::string& id, bool on_terminal, std::string_view site = documentation_site());

/// One character of UTF-8 text: its length in bytes and its code point. A byte that is not UTF-8, such as part of a
/// lone surrogate, counts as one character with code point -1.
struct Character {
  size_t size = 1;
  int64_t code = -1;
};
Character character_at(std::string_view text, size_t at);

/// A character, or an invalid byte, escaped as by printable().
std::string escaped(Character character, unsigned char byte);

/// Whether printable() escapes the character everywhere; includes newline and tab.
bool is_hazardous(Character character);

}  // namespace attnprobe
