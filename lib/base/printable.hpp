// Text that others wrote (configs, logs, libraries) made safe to print: it says what it holds and does nothing to a
// terminal or to the CI system that reads along.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace attnprobe {

/// For a terminal, a CI log, a text report. Escaped, as "\x1b" or "\u202e", are: control characters but for newline and
/// tab, what turns the direction of writing or is invisible (Trojan Source), bytes that are not UTF-8, and the first
/// character of a CI system's command ("::" at the beginning of a line, "##[" and its like anywhere). Colours of
/// coloured(), and no others, become the terminal's.
std::string printable(std::string_view text);

/// The same on one line: newlines and tabs are escaped too.
std::string printable_line(std::string_view text);

/// `text` between a colour's codes, "1;32" for bold green. The codes cannot be forged: until printable() has passed over
/// them they begin with a mark that is another in each process.
std::string coloured(std::string_view text, std::string_view codes);

/// How long the code of coloured() is that begins at `at`; 0 where none does.
size_t colour_length(std::string_view text, size_t at);

/// One character of UTF-8 text: as many bytes as it has, its code point. Bytes that are not UTF-8, lone surrogates among
/// them, are one byte with no code point (-1).
struct Character {
  size_t size = 1;
  int64_t code = -1;
};
Character character_at(std::string_view text, size_t at);

/// A character as printable() escapes it; a byte that is no character too.
std::string escaped(Character character, unsigned char byte);

/// Whether printable() escapes it wherever it stands; newline and tab are among them.
bool is_hazardous(Character character);

}  // namespace attnprobe
