// Columns and paragraphs of all text output.
#include <algorithm>

#include "base/printable.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::report {
namespace {

// Printed width: colour codes have width 0, and every character outside ASCII has width 1.
size_t display_width(const std::string& text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (const size_t code = colour_length(text, i); code > 0) {
      i += code - 1;
      continue;
    }
    width += (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U ? 0 : 1;
  }
  return width;
}

}  // namespace

std::string aligned(const std::vector<std::vector<std::string>>& rows, size_t indent) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line(indent, ' ');
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line += std::string(widths[i] - display_width(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string wrapped(const std::string& text, size_t indent, size_t width) {
  const std::string margin(indent, ' ');
  std::string out, line;
  auto flush = [&] {
    if (!line.empty()) out += margin + line + "\n";
    line.clear();
  };
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (!line.empty() && indent + display_width(line) + 1 + display_width(word) > width) flush();
    if (!word.empty()) line += (line.empty() ? "" : " ") + word;
    if (end < text.size() && text[end] == '\n') flush();
    begin = end + 1;
  }
  flush();
  return out;
}

}  // namespace attnprobe::report
