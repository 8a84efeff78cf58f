#include "base/printable.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <random>

namespace attnprobe {
namespace {

// Not UTF-8, so no text contains it by chance; unpredictable, so no text contains it on purpose.
const std::string& colour_mark() {
  static const std::string mark = [] {
    std::random_device random;
    return fmt::format("\xff{:08x}{:08x};", random(), random());
  }();
  return mark;
}

// The start of a link's code, which ends with "\a"; a colour's code ends with "m".
constexpr std::string_view link_code = "8;;";

bool is_within(int64_t code, int64_t first, int64_t last) {
  return first <= code && code <= last;
}

// The blanks that GitHub's runner trims before it looks for a command.
bool is_blank(int64_t code) {
  return code == ' ' || code == '\t' || code == 0xA0 || code == 0x1680 || is_within(code, 0x2000, 0x200A) ||
         code == 0x202F || code == 0x205F || code == 0x3000;
}

// Commands that work anywhere in a line: "##[group]" (GitHub, Azure), "##vso[" (Azure), "##teamcity[".
bool begins_command(std::string_view text) {
  if (text.substr(0, 2) != "##") return false;
  size_t at = 2;
  while (at < text.size() && std::isalpha(static_cast<unsigned char>(text[at])) != 0) ++at;
  return at < text.size() && text[at] == '[';
}

std::string made_printable(std::string_view text, bool one_line) {
  std::string out;
  out.reserve(text.size());
  bool at_begin = true;  // only blanks so far in this line
  for (size_t at = 0; at < text.size();) {
    if (const size_t length = colour_length(text, at); length > 0) {
      const std::string_view code = text.substr(at + colour_mark().size(), length - colour_mark().size());
      if (code.substr(0, link_code.size()) == link_code)
        out.append("\x1b]").append(code.substr(0, code.size() - 1)).append("\x1b\\");
      else
        out.append("\x1b[").append(code);
      at += length;
      continue;
    }
    const Character character = character_at(text, at);
    const std::string_view rest = text.substr(at);
    const bool is_space = character.code == '\n' || character.code == '\t';
    const bool is_command = (at_begin && rest.substr(0, 2) == "::") || begins_command(rest);
    if (is_command || (is_space ? one_line : is_hazardous(character)))
      out += escaped(character, static_cast<unsigned char>(text[at]));
    else
      out.append(rest.substr(0, character.size));
    at_begin = (character.code == '\n' && !one_line) || (at_begin && is_blank(character.code));
    at += character.size;
  }
  return out;
}

}  // namespace

Character character_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return {1, first};
  const size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + size > text.size()) return {};
  int64_t code = first & (0x7FU >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80U) return {};
    code = code << 6 | (byte(at + i) & 0x3FU);
  }
  constexpr std::array<int64_t, 5> least{0, 0, 0x80, 0x800, 0x10000};  // smallest code point by size, because overlong
                                                                       // forms are invalid
  if (code < least[size] || code > 0x10FFFF || is_within(code, 0xD800, 0xDFFF)) return {};
  return {size, code};
}

bool is_hazardous(Character character) {
  const int64_t code = character.code;
  return code < 0x20 || is_within(code, 0x7F, 0x9F) ||                          // control characters, invalid bytes
         code == 0x061C || code == 0x200E || code == 0x200F ||                  // direction marks
         is_within(code, 0x2028, 0x202E) || is_within(code, 0x2066, 0x2069) ||  // line ends, direction overrides
         code == 0xFEFF || is_within(code, 0xE0000, 0xE007F) ||                 // invisible: byte order mark, tags
         is_within(code, 0xFDD0, 0xFDEF) || (code & 0xFFFE) == 0xFFFE;          // noncharacters
}

std::string escaped(Character character, unsigned char byte) {
  if (character.code < 0x80) return fmt::format("\\x{:02x}", byte);
  if (character.code <= 0xFFFF) return fmt::format("\\u{:04x}", character.code);
  return fmt::format("\\U{:08x}", character.code);
}

std::string printable(std::string_view text) {
  return made_printable(text, false);
}

std::string printable_line(std::string_view text) {
  return made_printable(text, true);
}

std::string coloured(std::string_view text, std::string_view codes) {
  return fmt::format("{0}{1}m{2}{0}0m", colour_mark(), codes, text);
}

std::string linked(std::string_view text, std::string_view address) {
  return fmt::format("{0}{1}{2}\a{3}{0}{1}\a", colour_mark(), link_code, address, text);
}

size_t colour_length(std::string_view text, size_t at) {
  const std::string& mark = colour_mark();
  if (text[at] != mark[0] || text.substr(at, mark.size()) != mark) return 0;
  const size_t code = at + mark.size();
  return text.find(text.substr(code, link_code.size()) == link_code ? '\a' : 'm', code) + 1 - at;
}

std::string_view documentation_site() {
#ifdef ATTNPROBE_DOCUMENTATION
  return ATTNPROBE_DOCUMENTATION;
#else
  return "";
#endif
}

std::string linked_id(const std::string& id, bool on_terminal, std::string_view site) {
  if (!on_terminal || site.empty()) return id;
  return linked(id, fmt::format("{}reference/ids.html#{}", site, id));
}

}  // namespace attnprobe
