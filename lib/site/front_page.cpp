// The front page: every config with its newest answers, one column per GPU, and a search.
#include <fmt/format.h>

#include "report/formats/report.hpp"
#include "site/html.hpp"
#include "site/site.hpp"

namespace attnprobe::site {
namespace {

std::string gpu_heads(const Axes& axes) {
  std::string heads;
  for (size_t t = 0; t < axes.targets.size(); ++t)
    heads += fmt::format("<th class=\"gpu\"><a href=\"gpu/{}/index.html\" title=\"{}\"><span>{}</span></a></th>",
                         escaped_html(axes.targets[t].address), escaped_html(axes.target_facts[t].name),
                         escaped_html(axes.targets[t].name));
  return heads;
}

std::string config_row(const Axes& axes, const Answers& answers, size_t config) {
  std::string cells;
  size_t yes = 0, asked = 0;
  for (size_t t = 0; t < axes.targets.size(); ++t) {
    const Word word = answers.newest(config, t).word;
    asked += word == Word::not_asked ? 0 : 1;
    yes += word == Word::yes ? 1 : 0;
    // The cell has no text: its colour shows the answer, and the link's title states it for readers who cannot see
    // colours.
    cells +=
        word == Word::not_asked
            ? std::string("<td></td>")
            : fmt::format("<td class=\"{}\"><a href=\"{}/index.html#{}\" title=\"{}: {}\"></a></td>", style_of(word),
                          escaped_html(axes.configs[config].address), escaped_html(axes.targets[t].address),
                          escaped_html(axes.targets[t].name), name_of(word));
  }
  return fmt::format("<tr><th>{}<small>{}</small></th><td class=\"count\">{}/{}</td>{}</tr>\n",
                     link(axes.configs[config].address + "/index.html", axes.configs[config].name),
                     escaped_html(axes.summaries[config]), yes, asked, cells);
}

}  // namespace

std::string search_box(const std::string& what) {
  return fmt::format(
      "<p class=\"search\" hidden><input type=\"search\" id=\"search\" placeholder=\"Find a {0}: words of its name or shape\" "
      "aria-label=\"Find a {0}\"> <output id=\"found\"></output></p>\n",
      what);
}

std::string front_page(const Axes& axes, const Answers& answers) {
  std::string versions, rows;
  for (size_t v = axes.cudnns.size(); v-- > 0;) {
    const size_t changes = answers.changes(v).size();
    versions += fmt::format("<a class=\"chip\" href=\"cudnn/{}/index.html\">{}<small>{}</small></a>\n",
                            escaped_html(axes.cudnns[v].address), escaped_html(short_version(axes.cudnns[v].name)),
                            v == 0         ? std::string("oldest here")
                            : changes == 0 ? "no change"
                                           : fmt::format("{} changed", changes));
  }
  for (size_t c = 0; c < axes.configs.size(); ++c) rows += config_row(axes, answers, c);
  const std::string body = fmt::format(
      "<main>\n<h1>{}</h1>\n<p class=\"lead\">The attention that cuDNN supports on each GPU, as the library itself answers: {} config{}, {} GPU{}, {} cuDNN version{}, {} to {}. The colours are those of the newest version that was asked.</p>\n{}<p class=\"legend\">{} supported {} supported, with an obstacle {} refused {} failed, timed out or wrong</p>\n<div class=\"scroll\"><table class=\"map\">\n<thead><tr><th>config</th><th class=\"count\">yes</th>{}</tr></thead>\n<tbody id=\"rows\">\n{}</tbody>\n</table></div>\n<h2>What changed in cuDNN</h2>\n<p class=\"chips\">\n{}</p>\n</main>",
      escaped_html(axes.title), axes.configs.size(), axes.configs.size() == 1 ? "" : "s", axes.targets.size(),
      axes.targets.size() == 1 ? "" : "s", axes.cudnns.size(), axes.cudnns.size() == 1 ? "" : "s",
      escaped_html(short_version(axes.cudnns.front().name)), escaped_html(short_version(axes.cudnns.back().name)),
      search_box("config"), word_badge(Word::yes), word_badge(Word::but), word_badge(Word::no),
      word_badge(Word::crashed), gpu_heads(axes), rows, versions);
  return page(axes, "", axes.title, body);
}

Json front_json(const Axes& axes, const Answers& answers) {
  Json json = {{"schema", schema_name},          {"kind", "site"},           {"title", axes.title},
               {"tool", report::tool_version()}, {"configs", Json::array()}, {"targets", Json::array()},
               {"cudnns", Json::array()}};
  for (size_t c = 0; c < axes.configs.size(); ++c)
    json["configs"].push_back(
        {{"name", axes.configs[c].name}, {"address", axes.configs[c].address}, {"summary", axes.summaries[c]}});
  for (size_t t = 0; t < axes.targets.size(); ++t)
    json["targets"].push_back(
        {{"id", axes.targets[t].name}, {"address", axes.targets[t].address}, {"name", axes.target_facts[t].name}});
  for (size_t v = 0; v < axes.cudnns.size(); ++v)
    json["cudnns"].push_back({{"version", axes.cudnns[v].name},
                              {"address", axes.cudnns[v].address},
                              {"changes", answers.changes(v).size()}});
  return json;
}

}  // namespace attnprobe::site
