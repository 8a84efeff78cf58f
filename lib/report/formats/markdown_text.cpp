#include "report/formats/markdown_text.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/printable.hpp"

namespace attnprobe::report {
namespace {

std::string on_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return printable_line(text);
}

// An underscore between letters and digits is not emphasis; many names have one.
bool is_inside_word(std::string_view text, size_t at) {
  const auto is_part = [&](size_t i) {
    return i < text.size() && std::isalnum(static_cast<unsigned char>(text[i])) != 0;
  };
  return at > 0 && is_part(at - 1) && is_part(at + 1);
}

}  // namespace

std::string markdown_text(const std::string& text) {
  constexpr std::string_view marks = "\\`*[~|";
  const std::string line = on_one_line(text);
  std::string out;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const std::string_view rest = std::string_view(line).substr(i);
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (rest.substr(0, 3) == "://")
      out += "&#58;";
    else if (c == '.' && i >= 3 && (line[i - 1] | 0x20) == 'w' && (line[i - 2] | 0x20) == 'w' &&
             (line[i - 3] | 0x20) == 'w')
      out += "&#46;";
    else if (marks.find(c) != std::string_view::npos || (c == '_' && !is_inside_word(line, i)))
      out.append({'\\', c});
    else
      out += c;
  }
  return out;
}

std::string markdown_code(const std::string& text) {
  const std::string line = on_one_line(text);
  size_t longest = 0, run = 0;
  for (const char c : line) longest = std::max(longest, run = c == '`' ? run + 1 : 0);
  const std::string fence(longest + 1, '`'), space = longest > 0 ? " " : "";
  return fence + space + line + space + fence;
}

}  // namespace attnprobe::report
