#include "site/html.hpp"

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::site {

std::string escaped_html(std::string_view text) {
  std::string out;
  for (const char c : printable_line(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string link(std::string_view address, std::string_view text) {
  return fmt::format("<a href=\"{}\">{}</a>", escaped_html(address), escaped_html(text));
}

std::string json_in_html(const Json& json) {
  std::string out;
  // ASCII only, so that it cannot change the writing direction.
  for (const char c : json.dump(-1, ' ', true, Json::error_handler_t::replace)) {
    if (c == '<' || c == '\x7f')
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out;
}

std::string page(const Axes& axes, std::string_view root, std::string_view title, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'self'; script-src 'self'; img-src data:\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"{0}site.css\">\n<script src=\"{0}site.js\" defer></script>\n"
      "<title>{1}{2}</title>\n</head>\n<body>\n<nav><a class=\"home\" href=\"{0}index.html\">{2}</a>"
      "<button type=\"button\" id=\"theme\" hidden>Theme</button></nav>\n{3}\n"
      "<footer>Written by attnprobe {4}; cuDNN's answers for simulated and real GPUs. <a href=\"index.json\">This page as JSON</a></footer>\n"
      "</body>\n</html>\n",
      root, title == axes.title || title.empty() ? "" : escaped_html(title) + " · ", escaped_html(axes.title), body,
      escaped_html(report::tool_version()));
}

std::string_view style_of(Word word) {
  if (is_taken(word) || word == Word::no) return name_of(word);
  if (word == Word::not_asked) return "none";
  return word == Word::invalid_graph ? "no" : "failed";
}

std::string word_badge(Word word) {
  return fmt::format("<b class=\"word {}\">{}</b>", style_of(word), name_of(word));
}

std::string version_heads(const Axes& axes, std::string_view root) {
  std::string heads;
  for (const Named& version : axes.cudnns)
    heads += fmt::format("<th class=\"version\"><a href=\"{}cudnn/{}/index.html\"><span>{}</span></a></th>", root,
                         escaped_html(version.address), escaped_html(short_version(version.name)));
  return heads;
}

std::string run_cells(const std::vector<Run>& runs, const Axes& axes, const std::string& address) {
  std::string cells;
  for (const Run& run : runs) {
    const std::string& first = axes.cudnns[run.first].name;
    const std::string& last = axes.cudnns[run.last].name;
    const std::string title = run.first == run.last ? fmt::format("{}: {}", first, name_of(run.word))
                                                    : fmt::format("{} to {}: {}", first, last, name_of(run.word));
    cells += fmt::format("<td class=\"{}\" colspan=\"{}\" title=\"{}\">", style_of(run.word), run.last - run.first + 1,
                         escaped_html(title));
    if (run.word != Word::not_asked)
      cells += fmt::format("<a href=\"{}/{}\">{}</a>", escaped_html(address), escaped_html(last), name_of(run.word));
    cells += "</td>";
  }
  return cells;
}

std::string newest_text(const Answers& answers, const Axes& axes, size_t config, size_t target) {
  const Run newest = answers.newest(config, target);
  if (newest.word == Word::not_asked) return "<span class=\"muted\">not asked</span>";
  size_t oldest = 0;
  while (answers.word(config, target, oldest) == Word::not_asked) ++oldest;
  return fmt::format("{} <span class=\"since\">{}</span>", word_badge(newest.word),
                     escaped_html(since_text(newest, axes, oldest)));
}

}  // namespace attnprobe::site
