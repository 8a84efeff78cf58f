// A version's page: its answers that differ from the previous version's.
#include <fmt/format.h>

#include <map>
#include <tuple>

#include "site/html.hpp"
#include "site/site.hpp"

namespace attnprobe::site {
namespace {

// Changes of one config that differ only in the GPU.
struct Row {
  size_t config = 0;
  Word before = Word::not_asked, after = Word::not_asked;
  uint32_t why = 0;
  std::vector<size_t> targets;
};

std::vector<Row> rows_of(const std::vector<Change>& changes) {
  std::vector<Row> rows;
  std::map<std::tuple<size_t, Word, Word, uint32_t>, size_t> known;
  for (const Change& change : changes) {
    const auto [row, is_new] = known.try_emplace({change.config, change.before, change.after, change.why}, rows.size());
    if (is_new) rows.push_back({change.config, change.before, change.after, change.why, {}});
    rows[row->second].targets.push_back(change.target);
  }
  return rows;
}

std::string row_html(const Row& row, const Axes& axes, const Answers& answers, size_t cudnn) {
  std::string gpus;
  for (const size_t t : row.targets)
    gpus += (gpus.empty() ? "" : ", ") + link(fmt::format("../../{}/index.html#{}/{}", axes.configs[row.config].address,
                                                          axes.targets[t].address, axes.cudnns[cudnn].name),
                                              axes.targets[t].name);
  return fmt::format("<tr data-words=\"{}\"><th>{}</th><td>{} → {}</td><td>{}</td><td>{}</td></tr>\n",
                     escaped_html(axes.summaries[row.config]),
                     link("../../" + axes.configs[row.config].address + "/index.html", axes.configs[row.config].name),
                     word_badge(row.before), word_badge(row.after), gpus, escaped_html(answers.why(row.why)));
}

std::string part_html(const std::string& heading, const std::string& rows) {
  if (rows.empty()) return "";
  return fmt::format(
      "<h2>{}</h2>\n<div class=\"scroll\"><table class=\"plain\">\n<thead><tr><th>config</th><th></th><th>GPUs</th><th>reason or obstacle</th></tr></thead>\n<tbody class=\"rows\">\n{}</tbody>\n</table></div>\n",
      heading, rows);
}

std::string counts_html(const Axes& axes, const Answers& answers, size_t cudnn) {
  std::string rows;
  for (size_t t = 0; t < axes.targets.size(); ++t) {
    auto counts = answers.counts(t, cudnn);
    size_t other = 0;
    for (const auto& [word, count] : counts) other += word > Word::no ? count : 0;
    if (counts[Word::not_asked] == axes.configs.size()) continue;
    rows += fmt::format("<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                        link("../../gpu/" + axes.targets[t].address + "/index.html", axes.targets[t].name),
                        counts[Word::yes], counts[Word::but], counts[Word::no], other);
  }
  return fmt::format(
      "<h2>All its answers</h2>\n<div class=\"scroll\"><table class=\"plain numbers\">\n"
      "<thead><tr><th>GPU</th><th>yes</th><th>but</th><th>no</th><th>other</th></tr></thead>\n<tbody>\n{}</tbody>\n</table></div>\n",
      rows);
}

}  // namespace

std::string version_page(const Axes& axes, const Answers& answers, size_t cudnn) {
  const std::string version = short_version(axes.cudnns[cudnn].name);
  const auto changes = answers.changes(cudnn);
  // By the new word, in the order of the words.
  std::map<Word, std::string> parts;
  std::map<Word, size_t> counts;
  for (const Change& change : changes) ++counts[change.after];
  for (const Row& row : rows_of(changes)) parts[row.after] += row_html(row, axes, answers, cudnn);
  std::string found, lead;
  for (const auto& [word, rows] : parts) {
    found +=
        part_html(fmt::format("Became {}: {} cell{}", name_of(word), counts[word], counts[word] == 1 ? "" : "s"), rows);
    lead += lead.empty()
                ? fmt::format("{} cell{} became {}", counts[word], counts[word] == 1 ? "" : "s", word_badge(word))
                : fmt::format(", {} {}", counts[word], word_badge(word));
  }
  const auto neighbour = [&](size_t v, const char* before, const char* behind) {
    return link("../" + axes.cudnns[v].address + "/index.html", before + short_version(axes.cudnns[v].name) + behind);
  };
  std::string around;
  if (cudnn > 0) around += neighbour(cudnn - 1, "← ", "");
  if (cudnn + 1 < axes.cudnns.size()) around += " " + neighbour(cudnn + 1, "", " →");
  const std::string before = cudnn == 0 ? "" : escaped_html(short_version(axes.cudnns[cudnn - 1].name));
  const std::string says = cudnn == 0 ? "The oldest version here, so there is none to compare with."
                           : changes.empty()
                               ? fmt::format("No answer differs from cuDNN {}'s.", before)
                               : fmt::format("Compared with cuDNN {}, the next older one here: {}.", before, lead);
  const std::string body = fmt::format(
      "<main>\n<p class=\"around\">{}</p>\n<h1>What changed in cuDNN {}</h1>\n<p class=\"lead\">{}</p>\n{}{}{}</main>",
      around, escaped_html(version), says, changes.empty() ? "" : search_box("config"), found,
      counts_html(axes, answers, cudnn));
  return page(axes, "../../", "What changed in cuDNN " + version, body);
}

Json version_json(const Axes& axes, const Answers& answers, size_t cudnn) {
  Json json = {{"schema", schema_name},
               {"kind", "cudnn"},
               {"version", axes.cudnns[cudnn].name},
               {"compared_with", cudnn == 0 ? Json() : Json(axes.cudnns[cudnn - 1].name)},
               {"changes", Json::array()},
               {"counts", Json::object()}};
  for (const Change& change : answers.changes(cudnn))
    json["changes"].push_back({{"config", axes.configs[change.config].name},
                               {"target", axes.targets[change.target].name},
                               {"before", name_of(change.before)},
                               {"after", name_of(change.after)},
                               {"why", answers.why(change.why)}});
  for (size_t t = 0; t < axes.targets.size(); ++t) {
    const auto counts = answers.counts(t, cudnn);
    Json of_target = Json::object();
    for (const auto& [word, count] : counts)
      if (word != Word::not_asked) of_target[std::string(name_of(word))] = count;
    json["counts"][axes.targets[t].name] = std::move(of_target);
  }
  return json;
}

}  // namespace attnprobe::site
