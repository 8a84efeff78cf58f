#include "report/formats/html_page.hpp"

#include <fmt/format.h>

#include "base/embedded.hpp"

namespace attnprobe {
extern const EmbeddedFiles embedded_page;  // lib/report/page
}

namespace attnprobe::report {
namespace {

// Concatenates the files of lib/report/page with that beginning and ending.
std::string page_files(const std::string& beginning, std::string_view ending) {
  std::string text;
  for (const auto& [name, content] : embedded_page)
    if (name.starts_with(beginning) && name.ends_with(ending)) text += content;
  return text;
}

// Escaped so that HTML parsers find no tag or comment, while it remains valid JSON.
std::string safe_in_html(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    const bool is_raw = c == '<' || c == '\x7f';
    out += is_raw ? fmt::format("\\u{:04x}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return out;
}

void fill(std::string& page, const std::string& placeholder, const std::string& text) {
  page.replace(page.find(placeholder), placeholder.size(), text);
}

}  // namespace

std::string html_page(const std::string& name, const Json& data) {
  const std::string own = name + "_page";
  std::string page = page_files(own, ".html");
  // The data is inserted last, so that it is not searched for placeholders.
  fill(page, "/*STYLE*/", page_files("common_", ".css") + page_files(own, ".css"));
  fill(page, "/*SCRIPT*/", page_files("common_", ".js") + page_files(own, ".js"));
  fill(page, "/*DATA*/", safe_in_html(json_text(data)));
  return page;
}

}  // namespace attnprobe::report
