#include "emit/cpp_text.hpp"

#include "base/printable.hpp"

namespace attnprobe::emit {

std::string cpp_comment(const std::string& text) {
  std::string line = "// " + printable_line(text);
  if (line.ends_with('\\')) line += '.';  // a backslash would continue the comment on the next line
  return line;
}

std::string cpp_raw_string(const std::string& text) {
  std::string mark = "json";
  while (text.find(")" + mark + "\"") != std::string::npos) mark += "_";
  return "R\"" + mark + "(" + text + ")" + mark + "\"";
}

}  // namespace attnprobe::emit
