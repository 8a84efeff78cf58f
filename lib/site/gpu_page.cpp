// A GPU's page: one row per config, with its versions as runs.
#include <fmt/format.h>

#include "site/html.hpp"
#include "site/site.hpp"

namespace attnprobe::site {

std::string gpu_page(const Axes& axes, const Answers& answers, size_t target) {
  const auto& facts = axes.target_facts[target];
  std::string rows;
  for (size_t c = 0; c < axes.configs.size(); ++c) {
    if (answers.newest(c, target).word == Word::not_asked) continue;
    const std::string to_config = "../../" + axes.configs[c].address + "/index.html";
    const std::string cell = to_config + "#" + axes.targets[target].address;
    rows += fmt::format("<tr data-words=\"{}\"><th>{}</th><td class=\"newest\">{}</td>{}</tr>\n",
                        escaped_html(axes.summaries[c]), link(cell, axes.configs[c].name),
                        newest_text(answers, axes, c, target), run_cells(answers.runs(c, target), axes, cell));
  }
  const std::string body = fmt::format(
      "<main>\n<h1>{}</h1>\n<p class=\"lead\">{}{}, sm_{}{}</p>\n"
      "<p class=\"muted\">Each config's answer by cuDNN version, the newest at the right.</p>\n{}"
      "<div class=\"scroll\"><table class=\"runs\">\n<thead><tr><th>config</th><th class=\"newest\">cuDNN {}</th>{}</tr></thead>\n"
      "<tbody id=\"rows\">\n{}</tbody>\n</table></div>\n</main>",
      escaped_html(axes.targets[target].name), escaped_html(facts.name),
      facts.architecture.empty() ? "" : ", " + escaped_html(facts.architecture), facts.sm,
      facts.kind == "simulated" ? "; simulated: cuDNN answers from the GPU's properties" : "", search_box("config"),
      escaped_html(short_version(axes.cudnns.back().name)), version_heads(axes, "../../"), rows);
  return page(axes, "../../", axes.targets[target].name, body);
}

Json gpu_json(const Axes& axes, const Answers& answers, size_t target) {
  const auto& facts = axes.target_facts[target];
  Json json = {{"schema", schema_name},
               {"kind", "gpu"},
               {"id", axes.targets[target].name},
               {"name", facts.name},
               {"architecture", facts.architecture},
               {"sm", facts.sm},
               {"simulated", facts.kind == "simulated"},
               {"configs", Json::object()}};
  for (size_t c = 0; c < axes.configs.size(); ++c) {
    Json runs = Json::array();
    for (const Run& run : answers.runs(c, target))
      if (run.word != Word::not_asked)
        runs.push_back(
            {{"from", axes.cudnns[run.first].name}, {"to", axes.cudnns[run.last].name}, {"answer", name_of(run.word)}});
    if (!runs.empty()) json["configs"][axes.configs[c].name] = std::move(runs);
  }
  return json;
}

}  // namespace attnprobe::site
