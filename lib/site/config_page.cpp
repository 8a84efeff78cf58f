// A config's page: one row per GPU, with its versions as runs. site.js shows the answer for each run.
#include <fmt/format.h>

#include "base/text.hpp"
#include "report/model/diff.hpp"
#include "site/html.hpp"
#include "site/site.hpp"

namespace attnprobe::site {
namespace {

Json engine_json(const report::CellEngine& engine) {
  Json json = {{"engine", engine.engine}, {"knobs", engine.knobs}};
  if (engine.median_ms()) json["median_ms"] = *engine.median_ms();
  return json;
}

// The parts of an answer for readers; the matrix itself has every engine and reason.
Json answer_json(const report::CellAnswer& answer) {
  Json json = {{"answer", name_of(report::outcome_word(answer))}};
  const auto add = [&](const char* key, const std::string& text) {
    if (!text.empty()) json[key] = text;
  };
  add("category", answer.category);
  add("status", answer.status);
  add("reason", answer.reason);
  add("reason_id", reason_id(answer));
  add("explanation", answer.explanation);
  add("frontend", answer.frontend);
  add("from", answer.from);
  if (!answer.advice.empty()) json["advice"] = answer.advice;
  for (const auto& note : answer.notes) {
    Json one = note;
    if (!note.id.empty()) one["id"] = note.id;
    json["notes"].push_back(std::move(one));
  }
  if (!answer.but.empty()) json["but"] = answer.but;
  const bool works = is_taken(answer.word);
  if (const auto* first = works ? report::first_choice(answer) : nullptr) json["first"] = engine_json(*first);
  if (works) json["working"] = answer.viable;
  for (const auto& line : report::framework_lines(answer)) json["frameworks"].push_back(line);
  return json;
}

std::string fact(const char* name, const std::string& value) {
  return value.empty() ? "" : fmt::format("<dt>{}</dt><dd>{}</dd>", name, escaped_html(value));
}

}  // namespace

Json config_json(const Axes& axes, size_t config, const report::CellTable& table) {
  const report::CellConfig& about = table.configs.front();
  Json json = {{"schema", schema_name},
               {"kind", "config"},
               {"name", axes.configs[config].name},
               {"address", axes.configs[config].address},
               {"summary", about.summary},
               {"source", about.source},
               {"command", about.command},
               {"fields", about.fields},
               {"answers", Json::array()},
               {"cells", Json::object()}};
  std::map<std::string, size_t> known;
  std::vector<std::vector<size_t>> places(table.axes.targets.size(),
                                          std::vector<size_t>(table.axes.cudnns.size(), table.cells.size()));
  for (size_t i = 0; i < table.cells.size(); ++i) places[table.cells[i].place.target][table.cells[i].place.cudnn] = i;
  for (size_t t = 0; t < axes.targets.size(); ++t) {
    Json runs = Json::array();
    for (size_t v = 0; v < axes.cudnns.size(); ++v) {
      const size_t cell = places[axes.target_places[t]][axes.cudnn_places[v]];
      if (cell == table.cells.size()) continue;
      const Json answer = answer_json(table.answer(table.cells[cell]));
      const auto [place, is_new] = known.try_emplace(json_text(answer), known.size());
      if (is_new) json["answers"].push_back(answer);
      // A version that was not asked ends a run, because a run's answer must apply to each of its versions.
      const bool goes_on = v > 0 && !runs.empty() && runs.back()["to"] == axes.cudnns[v - 1].name &&
                           runs.back()["answer"] == place->second;
      if (goes_on)
        runs.back()["to"] = axes.cudnns[v].name;
      else
        runs.push_back({{"from", axes.cudnns[v].name}, {"to", axes.cudnns[v].name}, {"answer", place->second}});
    }
    if (!runs.empty()) json["cells"][axes.targets[t].name] = std::move(runs);
  }
  for (size_t t = 0; t < table.target_words.size(); ++t)
    if (!table.target_words[t].empty() && table.target_words[t] != table.axes.targets[t].id)
      json["target_words"][table.axes.targets[t].id] = table.target_words[t];
  return json;
}

std::string config_page(const Axes& axes, const Answers& answers, size_t config, const report::CellTable& table,
                        const Json& json) {
  const report::CellConfig& about = table.configs.front();
  std::string rows, family;
  for (size_t t = 0; t < axes.targets.size(); ++t) {
    const auto& facts = axes.target_facts[t];
    const Run newest = answers.newest(config, t);
    if (newest.word == Word::not_asked) continue;
    const std::string this_family = facts.architecture.empty() ? fmt::format("sm_{}", facts.sm) : facts.architecture;
    if (this_family != family)
      rows += fmt::format("<tr class=\"family\"><th colspan=\"2\">{}</th><td colspan=\"{}\"></td></tr>\n",
                          escaped_html(this_family), axes.cudnns.size());
    family = this_family;
    rows += fmt::format(
        "<tr data-gpu=\"{0}\"><th><a href=\"../gpu/{1}/index.html\" title=\"{2}\">{0}</a></th><td class=\"newest\">{3}</td>{4}</tr>\n",
        escaped_html(axes.targets[t].name), escaped_html(axes.targets[t].address), escaped_html(facts.name),
        newest_text(answers, axes, config, t), run_cells(answers.runs(config, t), axes, "#" + axes.targets[t].address));
  }
  Json data = json;
  for (size_t t = 0; t < axes.targets.size(); ++t)
    data["targets"].push_back(
        {{"id", axes.targets[t].name}, {"address", axes.targets[t].address}, {"name", axes.target_facts[t].name}});
  for (const Named& version : axes.cudnns) data["cudnns"].push_back(version.name);
  const std::string body = fmt::format(
      "<main class=\"config\">\n<h1>{}</h1>\n<p class=\"lead\">{}</p>\n"
      "<p class=\"muted\">Each GPU's answer by cuDNN version, the newest at the right. Select a cell to see the reasons; its address never changes.</p>\n"
      "<div class=\"scroll\"><table class=\"runs\">\n<thead><tr><th>GPU</th><th class=\"newest\">cuDNN {}</th>{}</tr></thead>\n"
      "<tbody>\n{}</tbody>\n</table></div>\n<section id=\"cell\" aria-live=\"polite\"></section>\n"
      "<details><summary>Config</summary><dl>{}{}</dl><pre>{}</pre></details>\n"
      "<details><summary>Badges</summary><p>An image with a GPU's newest answer, at "
      "<code>badge/{}/GPU.svg</code> below the site's address:</p><p id=\"badges\"></p></details>\n"
      "<script type=\"application/json\" id=\"data\">{}</script>\n</main>",
      escaped_html(axes.configs[config].name), escaped_html(about.summary),
      escaped_html(short_version(axes.cudnns.back().name)), version_heads(axes, "../"), rows,
      fact("from", about.source),
      fact("asked again", about.command.empty() ? "" : about.command + " --target GPU --cudnn VERSION"),
      escaped_html(about.fields.is_null() ? "" : json_text(about.fields)), escaped_html(axes.configs[config].address),
      json_in_html(data));
  return page(axes, "../", axes.configs[config].name, body);
}

}  // namespace attnprobe::site
