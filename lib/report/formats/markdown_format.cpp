// Markdown for GitHub's step summary, which is limited to 1 MiB.
#include <fmt/format.h>

#include <algorithm>

#include "report/formats/format.hpp"
#include "report/formats/markdown_text.hpp"

namespace attnprobe::report {
namespace {

using answer::Word;

std::string cell_text(const CellAnswer* answer) {
  if (answer == nullptr) return "";
  const Word word = outcome_word(*answer);
  const bool is_answer = is_taken(word) || word == Word::no;
  const std::string text =
      is_answer ? std::string(name_of(word)) : "**" + markdown_text(std::string(name_of(word))) + "**";
  const std::string mark = answer->notes.empty() || answer->word != Word::yes ? "" : " ⚠";
  return text + mark + (is_missed(*answer) ? " ❗" : "");
}

// By place, for tables.
std::map<asking::CellPlace, const CellAnswer*> by_place(const CellTable& table) {
  std::map<asking::CellPlace, const CellAnswer*> answers;
  for (const Cell& cell : table.cells) answers[cell.place] = &table.answer(cell);
  return answers;
}

// The first cuDNN here with a yes, by GPU: "9.8.0: h200, b200; 9.14.0: l40s". Versions before the first one asked are
// unknown.
std::string since(const CellTable& table, size_t config,
                  const std::map<asking::CellPlace, const CellAnswer*>& answers) {
  std::map<size_t, std::vector<std::string>> targets;  // by index of the first supported version; the last entry: none
  const size_t never = table.axes.cudnns.size();
  for (size_t t = 0; t < table.axes.targets.size(); ++t) {
    size_t first = never;
    for (size_t v = never; v-- > 0;)
      if (const auto found = answers.find({config, t, v}); found != answers.end() && found->second->word == Word::yes)
        first = v;
    targets[first].push_back(markdown_text(table.axes.targets[t].id));
  }
  std::string text;
  for (const auto& [version, ids] : targets) {
    if (version == never && targets.size() > 1) continue;
    const std::string words =
        version == never ? "never" : (version == 0 ? "≤ " : "") + markdown_text(table.axes.cudnns[version]);
    text += (text.empty() ? "" : "; ") + words;
    if (targets.size() > 1) text += fmt::format(": {}", fmt::join(ids, ", "));
  }
  return text;
}

std::string why_of(const CellAnswer& answer) {
  if (answer.word == Word::but) return obstacles_text(answer);
  const std::string& reason = answer.reason.empty() ? answer.explanation : answer.reason;
  return answer.category.empty() ? reason : answer.category + ": " + reason;
}

// The unexpected cells or, without expectations, the cells with a no or worse.
std::string unmet_table(const CellTable& table, bool of_expected) {
  constexpr size_t most = 200;
  std::string text;
  size_t count = 0;
  for (const Cell& cell : table.cells) {
    const CellAnswer& answer = table.answer(cell);
    if (answer.met || answer.expect.empty() == of_expected) continue;
    if (++count > most) continue;
    text += fmt::format("| {} | {} | {} | {}{} | {} | {} |\n", markdown_text(table.config(cell)),
                        markdown_text(table.target(cell).id), markdown_text(table.cudnn(cell)),
                        name_of(outcome_word(answer)), of_expected ? ", expected " + answer.expect : "",
                        markdown_text(why_of(answer)), markdown_text(helps_text(answer)));
  }
  if (count == 0) return "";
  std::string head = fmt::format(
      "\n### {} ({})\n\n| config | GPU | cuDNN | answer | why | workaround |\n| --- | --- | --- | --- | --- | --- |\n",
      of_expected ? "Not as expected" : "Does not work", count);
  return head + text + (count > most ? fmt::format("\n… and {} more\n", count - most) : "");
}

constexpr size_t most_rows = 100;

// Rows that many cells share, with their number.
class Counted {
 public:
  void add(std::string row) {
    const auto [known, is_new] = places_.try_emplace(row, rows_.size());
    if (is_new) rows_.emplace_back(std::move(row), 0);
    ++rows_[known->second].second;
  }
  // A folded table; `head` has all columns except the last; "" without rows.
  std::string text(const std::string& title, const std::vector<std::string>& head) const {
    if (rows_.empty()) return "";
    std::string text =
        fmt::format("\n<details><summary>{}</summary>\n\n| {} | cells |\n|", title, fmt::join(head, " | "));
    for (size_t i = 0; i <= head.size(); ++i) text += " --- |";
    text += "\n";
    for (size_t i = 0; i < rows_.size() && i < most_rows; ++i)
      text += fmt::format("{} {} |\n", rows_[i].first, rows_[i].second);
    if (rows_.size() > most_rows) text += fmt::format("\n… and {} more\n", rows_.size() - most_rows);
    return text + "\n</details>\n";
  }

 private:
  std::vector<std::pair<std::string, size_t>> rows_;
  std::map<std::string, size_t> places_;
};

std::string note_row(const CellObstacle& one) {
  return fmt::format("| {} | {} |", markdown_text(one.text), markdown_text(one.source));
}

std::string obstacles_table(const CellTable& table) {
  Counted rows;
  for (const Cell& cell : table.cells)
    for (const CellObstacle& obstacle : table.answer(cell).but) rows.add(note_row(obstacle));
  return rows.text("Obstacles", {"but", "source"});
}

std::string notes_table(const CellTable& table) {
  Counted rows;
  for (const Cell& cell : table.cells)
    for (const CellObstacle& note : table.answer(cell).notes) rows.add(note_row(note));
  return rows.text("Known bugs and version rules", {"what", "source"});
}

// The frameworks' decisions, and workarounds.
std::string frameworks_table(const CellTable& table) {
  Counted rows;
  for (const Cell& cell : table.cells)
    for (const CellFramework& framework : table.answer(cell).frameworks)
      rows.add(fmt::format("| {} | {} | {} |", markdown_text(framework.text), markdown_text(framework.instead),
                           markdown_text(fmt::format("{}", fmt::join(framework.changes, "; ")))));
  return rows.text("Frameworks", {"framework", "instead", "what to change"});
}

// Each refused cell with its fixes; GPUs with the same answer share a row.
std::string refusals_table(const CellTable& table) {
  struct RefusedRow {
    std::string config, rest;
    std::vector<std::string> targets;
  };
  std::vector<RefusedRow> rows;
  std::map<std::string, size_t> places;
  bool is_unknown = false;
  // Newer versions first, so that only old ones are omitted.
  for (size_t v = table.axes.cudnns.size(); v-- > 0;)
    for (const Cell& cell : table.cells) {
      const CellAnswer& answer = table.answer(cell);
      if (cell.place.cudnn != v || (answer.word != Word::no && answer.word != Word::but)) continue;
      const std::string helps = helps_text(answer);
      is_unknown |= helps.empty();
      const std::string config = markdown_text(table.config(cell));
      std::string rest =
          fmt::format("{} | {} | {} | {} |", markdown_text(table.cudnn(cell)), name_of(outcome_word(answer)),
                      markdown_text(why_of(answer)), helps.empty() ? "–" : markdown_text(helps));
      const auto [known, is_new] = places.try_emplace(fmt::format("{}\n{}", config, rest), rows.size());
      if (is_new) rows.push_back({config, std::move(rest), {}});
      rows[known->second].targets.push_back(markdown_text(table.target(cell).id));
    }
  if (rows.empty()) return "";
  std::string text =
      "\n<details><summary>Workarounds</summary>\n\n| config | GPU | cuDNN | answer | why | workaround |\n| --- | --- | --- | --- | --- | --- |\n";
  for (size_t i = 0; i < rows.size() && i < most_rows; ++i)
    text += fmt::format("| {} | {} | {}\n", rows[i].config, fmt::join(rows[i].targets, ", "), rows[i].rest);
  if (rows.size() > most_rows)
    text += fmt::format("\n… {} more rows are omitted; the page of this matrix shows all.\n", rows.size() - most_rows);
  if (is_unknown)
    text += "\n– means not known: `attnprobe matrix … --suggest` searches for changes that make it work.\n";
  return text + "\n</details>\n";
}

std::string version_table(const CellTable& table, size_t version,
                          const std::map<asking::CellPlace, const CellAnswer*>& answers) {
  // A single version does not show when support began.
  const bool has_since = table.axes.cudnns.size() > 1;
  std::string text = has_since ? "| config | yes since |" : "| config |",
              line = has_since ? "| --- | --- |" : "| --- |";
  for (const auto& target : table.axes.targets) {
    text += " " + markdown_text(target.id) + " |";
    line += " --- |";
  }
  text += "\n" + line + "\n";
  for (size_t c = 0; c < table.configs.size(); ++c) {
    text += fmt::format("| {} |", markdown_text(table.axes.configs[c]));
    if (has_since) text += fmt::format(" {} |", since(table, c, answers));
    for (size_t t = 0; t < table.axes.targets.size(); ++t) {
      const auto found = answers.find({c, t, version});
      text += fmt::format(" {} |", cell_text(found == answers.end() ? nullptr : found->second));
    }
    text += "\n";
  }
  return fmt::format("\n<details{}><summary>cuDNN {}</summary>\n\n{}\n</details>\n",
                     version + 1 == table.axes.cudnns.size() ? " open" : "", markdown_text(table.axes.cudnns[version]),
                     text);
}

// The legend for words and marks in the tables.
std::string legend_of(const CellTable& table) {
  const auto any = [&](const auto& test) {
    return std::any_of(table.cells.begin(), table.cells.end(),
                       [&](const Cell& cell) { return test(table.answer(cell)); });
  };
  std::string text =
      "\n*yes*: a program can use it; *but*: cuDNN supports it, with an obstacle; *no*: cuDNN refuses it";
  if (any([](const CellAnswer& answer) { return answer.word == Word::yes && !answer.notes.empty(); }))
    text += "; ⚠ a known bug or a version rule affects it";
  if (any(is_missed)) text += "; ❗ not as expected";
  if (table.axes.cudnns.size() > 1) text += "; *yes since* is the first installed cuDNN with a yes, by GPU";
  return text + ".\n";
}

std::string markdown(const CellTable& table) {
  const auto answers = by_place(table);
  std::string text = fmt::format("## attnprobe: {}\n", cells_summary(table));
  if (!table.axes.command.empty()) text += "\n" + markdown_code(table.axes.command) + "\n";
  text += unmet_table(table, true) + unmet_table(table, false);
  text += legend_of(table);
  const std::string folded =
      refusals_table(table) + obstacles_table(table) + notes_table(table) + frameworks_table(table);
  // GitHub's limit is 1 MiB: newer versions come first, and omitted parts are named.
  constexpr size_t most = 900'000;
  std::string left_out;
  for (size_t v = table.axes.cudnns.size(); v-- > 0;) {
    const std::string part = version_table(table, v, answers);
    if (text.size() + part.size() + folded.size() < most)
      text += part;
    else
      left_out += (left_out.empty() ? "" : ", ") + markdown_text(table.axes.cudnns[v]);
  }
  if (!left_out.empty()) text += fmt::format("\nOmitted for length: cuDNN {}.\n", left_out);
  return text + folded;
}

}  // namespace

extern const Format markdown_format;
const Format markdown_format{"md", "Markdown, for a page or GitHub's step summary", "report.md", nullptr, markdown};

}  // namespace attnprobe::report
