// Markdown, for GitHub's step summary, which takes 1 MiB.
#include <fmt/format.h>

#include <algorithm>

#include "report/formats/format.hpp"
#include "report/formats/markdown_text.hpp"

namespace attnprobe::report {
namespace {

std::string symbol(const CellAnswer* answer) {
  if (answer == nullptr) return "";
  const std::string text = answer->word == "yes"              ? std::to_string(answer->viable)
                           : answer->word == "but"            ? "but " + std::to_string(answer->viable)
                           : answer->verdict == "unsupported" ? "–"
                                                              : "**" + answer->verdict + "**";
  return answer->met ? text : text + " ❗";
}

// By place, for tables.
std::map<campaign::CellPlace, const CellAnswer*> by_place(const CellTable& table) {
  std::map<campaign::CellPlace, const CellAnswer*> answers;
  for (const Cell& cell : table.cells) answers[cell.place] = &table.answer(cell);
  return answers;
}

// The first cuDNN that supports a config on any of these GPUs; "" if none does.
std::string since(const CellTable& table, size_t config,
                  const std::map<campaign::CellPlace, const CellAnswer*>& answers) {
  for (size_t v = 0; v < table.axes.cudnns.size(); ++v)
    for (size_t t = 0; t < table.axes.targets.size(); ++t)
      if (const auto found = answers.find({config, t, v});
          found != answers.end() && found->second->verdict == "supported")
        return table.axes.cudnns[v];
  return "";
}

std::string unmet_table(const CellTable& table) {
  constexpr size_t most = 200;
  std::string text;
  size_t count = 0;
  for (const Cell& cell : table.cells) {
    const CellAnswer& answer = table.answer(cell);
    if (answer.met) continue;
    if (++count > most) continue;
    text += fmt::format("| {} | {} | {} | {}, expected {} | {} | {} |\n", markdown_text(table.config(cell)),
                        markdown_text(table.target(cell).id), markdown_text(table.cudnn(cell)), outcome_word(answer),
                        answer.expect, markdown_text(answer.category), markdown_text(answer.reason));
  }
  if (count == 0) return "";
  std::string head = fmt::format(
      "\n### Not as expected ({})\n\n| config | GPU | cuDNN | answer | category | "
      "cuDNN's reason |\n| --- | --- | --- | --- | --- | --- |\n",
      count);
  return head + text + (count > most ? fmt::format("\n… and {} more\n", count - most) : "");
}

// What stands in the way, each once, with the cells that it concerns.
std::string obstacles_table(const CellTable& table) {
  constexpr size_t most = 100;
  std::vector<std::pair<const CellObstacle*, size_t>> rows;
  for (const Cell& cell : table.cells)
    for (const CellObstacle& obstacle : table.answer(cell).but) {
      const auto same =
          std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.first->text == obstacle.text; });
      if (same == rows.end())
        rows.emplace_back(&obstacle, 1);
      else
        ++same->second;
    }
  if (rows.empty()) return "";
  std::string text =
      "\n<details><summary>What stands in the way</summary>\n\n| but | cells | source |\n| --- | --- | --- |\n";
  for (size_t i = 0; i < rows.size() && i < most; ++i)
    text += fmt::format("| {} | {} | {} |\n", markdown_text(rows[i].first->text), rows[i].second,
                        markdown_text(rows[i].first->source));
  if (rows.size() > most) text += fmt::format("\n… and {} more\n", rows.size() - most);
  return text + "\n</details>\n";
}

// What the frameworks do, each once, with the cells that it concerns and what gets around it.
std::string frameworks_table(const CellTable& table) {
  constexpr size_t most = 100;
  std::vector<std::pair<std::string, size_t>> rows;  // a line of the table, cells
  for (const Cell& cell : table.cells)
    for (const CellFramework& framework : table.answer(cell).frameworks) {
      std::string row = fmt::format("| {} | {} | {} |", markdown_text(framework.text), markdown_text(framework.instead),
                                    markdown_text(fmt::format("{}", fmt::join(framework.changes, "; "))));
      const auto same = std::find_if(rows.begin(), rows.end(), [&](const auto& known) { return known.first == row; });
      if (same == rows.end())
        rows.emplace_back(std::move(row), 1);
      else
        ++same->second;
    }
  if (rows.empty()) return "";
  std::string text =
      "\n<details><summary>What the frameworks do</summary>\n\n| framework | instead | what to change | cells |\n| --- | --- | --- | "
      "--- |\n";
  for (size_t i = 0; i < rows.size() && i < most; ++i) text += fmt::format("{} {} |\n", rows[i].first, rows[i].second);
  if (rows.size() > most) text += fmt::format("\n… and {} more\n", rows.size() - most);
  return text + "\n</details>\n";
}

std::string version_table(const CellTable& table, size_t version,
                          const std::map<campaign::CellPlace, const CellAnswer*>& answers) {
  std::string text = "| config | since |", line = "| --- | --- |";
  for (const auto& target : table.axes.targets) {
    text += " " + markdown_text(target.id) + " |";
    line += " --- |";
  }
  text += "\n" + line + "\n";
  for (size_t c = 0; c < table.configs.size(); ++c) {
    text += fmt::format("| {} | {} |", markdown_text(table.axes.configs[c]), markdown_text(since(table, c, answers)));
    for (size_t t = 0; t < table.axes.targets.size(); ++t) {
      const auto found = answers.find({c, t, version});
      text += fmt::format(" {} |", symbol(found == answers.end() ? nullptr : found->second));
    }
    text += "\n";
  }
  return fmt::format("\n<details{}><summary>cuDNN {}</summary>\n\n{}\n</details>\n",
                     version + 1 == table.axes.cudnns.size() ? " open" : "", markdown_text(table.axes.cudnns[version]),
                     text);
}

std::string markdown(const CellTable& table) {
  const auto answers = by_place(table);
  std::string text = fmt::format("## attnprobe: {}\n\n{}\n", cells_summary(table), markdown_code(table.axes.command));
  text += unmet_table(table);
  text +=
      "\nA number is a yes, and how many engine configs work; *but*: something stands in the way; – is a no, ❗ not as expected; "
      "*since* is the first cuDNN here that takes it on any of these GPUs.\n";
  text += obstacles_table(table) + frameworks_table(table);
  // GitHub takes 1 MiB; newer versions first, and what does not fit is named.
  constexpr size_t most = 900'000;
  std::string left_out;
  for (size_t v = table.axes.cudnns.size(); v-- > 0;) {
    const std::string part = version_table(table, v, answers);
    if (text.size() + part.size() < most)
      text += part;
    else
      left_out += (left_out.empty() ? "" : ", ") + markdown_text(table.axes.cudnns[v]);
  }
  if (!left_out.empty()) text += fmt::format("\nLeft out, since it would not fit here: cuDNN {}.\n", left_out);
  return text;
}

}  // namespace

extern const Format markdown_format;
const Format markdown_format{"md", "Markdown, for a page or GitHub's step summary", "report.md", nullptr, markdown};

}  // namespace attnprobe::report
