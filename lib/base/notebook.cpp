#include "base/notebook.hpp"

#include <algorithm>

#include "base/json_reader.hpp"

namespace attnprobe {
namespace {

// A text in a notebook, which may be a list of lines.
std::string text_in(const Json& cell, const char* key) {
  const Json text = cell.is_object() ? cell.value(key, Json()) : Json();
  std::string joined = text.is_string() ? text.get<std::string>() : "";
  if (text.is_array())
    for (const Json& part : text)
      if (part.is_string()) {
        joined += part.get<std::string>();
        if (std::string_view(key) == "traceback") joined += '\n';
      }
  return joined.empty() || joined.ends_with('\n') ? joined : joined + '\n';
}

}  // namespace

bool may_be_notebook(std::string_view beginning) {
  const auto skip_blanks = [&] {
    beginning.remove_prefix(std::min(beginning.find_first_not_of(" \t\r\n"), beginning.size()));
  };
  skip_blanks();
  if (!beginning.starts_with('{')) return false;
  beginning.remove_prefix(1);
  skip_blanks();
  return beginning.starts_with("\"cells\"") || beginning.starts_with("\"metadata\"") ||
         beginning.starts_with("\"nbformat");
}

std::string text_of_notebook(std::string_view text) {
  if (!may_be_notebook(text) || text.find("\"nbformat\"") == std::string_view::npos) return "";
  const Json notebook = parse_json_leniently(text);
  if (!notebook.is_object() || !notebook.contains("cells")) return "";
  std::string shown;
  for (const Json& cell : notebook["cells"]) {
    shown += text_in(cell, "source");
    if (!cell.is_object() || !cell.contains("outputs")) continue;
    for (const Json& output : cell["outputs"])
      shown += text_in(output, "text") + text_in(output, "traceback") +
               text_in(output.is_object() ? output.value("data", Json()) : Json(), "text/plain");
  }
  return shown;
}

}  // namespace attnprobe
