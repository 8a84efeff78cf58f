// A matrix as CSV, JUnit XML and Markdown.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "report/formats/report.hpp"
#include "report/model/cells.hpp"

namespace attnprobe::report {
namespace {

// RFC 4180: quoted where it must be, quotes doubled.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (const auto& field : fields) line += (line.empty() ? "" : ",") + csv_field(field);
  return line + "\r\n";
}

// Text and attributes alike; what XML 1.0 cannot say is left out.
std::string xml(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\n' || c == '\t' || static_cast<unsigned char>(c) >= 0x20)
      out += c;
  }
  return out;
}

bool is_failure_of_run(const CellAnswer& answer) {
  return answer.verdict == "error" || answer.verdict == "crashed" || answer.verdict == "timeout";
}

// Everything that a person wants of a cell that is not as expected.
std::string account_of(const CellTable& table, const Cell& cell) {
  const CellAnswer& answer = table.answer(cell);
  std::string text = fmt::format("verdict {}, expected {}\n", answer.verdict, answer.expect);
  if (!answer.status.empty() || !answer.reason.empty())
    text += fmt::format("cuDNN says: {}{}{}\n", answer.status,
                        answer.status.empty() || answer.reason.empty() ? "" : ": ", answer.reason);
  if (!answer.explanation.empty()) text += answer.explanation + "\n";
  for (const auto& note : answer.notes) text += note + "\n";
  for (const auto& advice : answer.advice) text += "what helps: " + advice + "\n";
  for (const auto& engine : answer.engines)
    if (!engine.viable)
      text += fmt::format("engine {} {}: {}{}{}\n", engine.engine, engine.knobs, engine.status,
                          engine.reason.empty() ? "" : ": ", engine.reason);
  return text + "reproduce: " + reproduce_command(table, cell) + "\n";
}

// Pipes and line ends would end a cell of a Markdown table.
std::string markdown_cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : c == '\n' ? std::string(" ") : std::string(1, c);
  return out;
}

std::string symbol(const CellAnswer* answer) {
  if (answer == nullptr) return "";
  const std::string text = answer->verdict == "supported"     ? std::to_string(answer->viable)
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
    text += fmt::format("| {} | {} | {} | {}, expected {} | {} | {} |\n", markdown_cell(table.config(cell)),
                        table.target(cell).id, table.cudnn(cell), answer.verdict, answer.expect, answer.category,
                        markdown_cell(answer.reason));
  }
  if (count == 0) return "";
  std::string head = fmt::format(
      "\n### Not as expected ({})\n\n| config | GPU | cuDNN | verdict | category | "
      "cuDNN's reason |\n| --- | --- | --- | --- | --- | --- |\n",
      count);
  return head + text + (count > most ? fmt::format("\n… and {} more\n", count - most) : "");
}

std::string version_table(const CellTable& table, size_t version,
                          const std::map<campaign::CellPlace, const CellAnswer*>& answers) {
  std::string text = "| config | since |", line = "| --- | --- |";
  for (const auto& target : table.axes.targets) {
    text += " " + target.id + " |";
    line += " --- |";
  }
  text += "\n" + line + "\n";
  for (size_t c = 0; c < table.configs.size(); ++c) {
    text += fmt::format("| {} | {} |", markdown_cell(table.axes.configs[c]), since(table, c, answers));
    for (size_t t = 0; t < table.axes.targets.size(); ++t) {
      const auto found = answers.find({c, t, version});
      text += " " + symbol(found == answers.end() ? nullptr : found->second) + " |";
    }
    text += "\n";
  }
  return fmt::format("\n<details{}><summary>cuDNN {}</summary>\n\n{}\n</details>\n",
                     version + 1 == table.axes.cudnns.size() ? " open" : "", table.axes.cudnns[version], text);
}

}  // namespace

std::string cells_csv(const CellTable& table) {
  std::string text = csv_line({"config",
                               "summary",
                               "pattern",
                               "pass",
                               "dtype",
                               "target",
                               "sm",
                               "kind",
                               "cudnn",
                               "verdict",
                               "expect",
                               "met",
                               "viable",
                               "candidates",
                               "category",
                               "status",
                               "reason",
                               "graph",
                               "graph_pattern",
                               "engine",
                               "knobs",
                               "median_ms",
                               "tflops",
                               "percent_of_peak",
                               "frontend_refuses",
                               "notes"});
  for (const Cell& cell : table.cells) {
    const CellAnswer& answer = table.answer(cell);
    const CellConfig& config = table.configs[cell.place.config];
    const auto& target = table.target(cell);
    const CellEngine* best = fastest(answer);
    // Untimed, the first that is viable is what a program would take.
    const auto first =
        std::find_if(answer.engines.begin(), answer.engines.end(), [](const auto& e) { return e.viable; });
    const CellEngine* chosen = best != nullptr ? best : first == answer.engines.end() ? nullptr : &*first;
    auto figure = [](const std::optional<double>& value) { return value ? fmt::format("{}", *value) : ""; };
    text += csv_line({table.config(cell),
                      config.summary,
                      config.pattern,
                      config.pass,
                      config.dtype,
                      target.id,
                      std::to_string(target.sm),
                      target.kind,
                      table.cudnn(cell),
                      answer.verdict,
                      answer.expect,
                      answer.met ? "true" : "false",
                      std::to_string(answer.viable),
                      std::to_string(answer.candidates),
                      answer.category,
                      answer.status,
                      answer.reason,
                      answer.hash,
                      answer.pattern,
                      chosen == nullptr ? "" : std::to_string(chosen->engine),
                      chosen == nullptr ? "" : chosen->knobs,
                      best == nullptr ? "" : figure(best->median_ms),
                      best == nullptr ? "" : figure(best->tflops),
                      best == nullptr ? "" : figure(best->percent_of_peak),
                      answer.frontend,
                      fmt::format("{}", fmt::join(answer.notes, " ; "))});
  }
  return text;
}

std::string cells_junit(const CellTable& table) {
  // By cuDNN and target, in the order of the axes.
  std::map<std::pair<size_t, size_t>, std::vector<const Cell*>> suites;
  for (const Cell& cell : table.cells) suites[{cell.place.cudnn, cell.place.target}].push_back(&cell);
  std::string body;
  size_t all_failures = 0, all_errors = 0;
  for (const auto& [axes, cells] : suites) {
    const std::string suite =
        fmt::format("cuDNN {} on {}", table.axes.cudnns[axes.first], table.axes.targets[axes.second].id);
    std::string cases;
    size_t failures = 0, errors = 0;
    for (const Cell* cell : cells) {
      const CellAnswer& answer = table.answer(*cell);
      cases += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml(suite), xml(table.config(*cell)));
      if (answer.met) {
        cases += "/>\n";
        continue;
      }
      const bool is_error = is_failure_of_run(answer);
      ++(is_error ? errors : failures);
      const char* kind = is_error ? "error" : "failure";
      cases += fmt::format(">\n      <{} type=\"{}\" message=\"{}\">{}</{}>\n    </testcase>\n", kind,
                           xml(answer.category.empty() ? answer.verdict : answer.category),
                           xml(fmt::format("{}, expected {}{}{}", answer.verdict, answer.expect,
                                           answer.reason.empty() ? "" : ": ", answer.reason)),
                           xml(account_of(table, *cell)), kind);
    }
    all_failures += failures;
    all_errors += errors;
    body += fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n{}  </testsuite>\n",
                        xml(suite), cells.size(), failures, errors, cases);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"attnprobe\" tests=\"{}\" "
      "failures=\"{}\" "
      "errors=\"{}\">\n{}</testsuites>\n",
      table.cells.size(), all_failures, all_errors, body);
}

std::string cells_markdown(const CellTable& table) {
  const auto answers = by_place(table);
  std::string text = fmt::format("## attnprobe: {}\n\n`{}`\n", cells_summary(table), table.axes.command);
  text += unmet_table(table);
  text +=
      "\nNumbers are engine configs that work, – is not supported, ❗ not as expected; *since* is the first "
      "cuDNN "
      "here that supports it on any of these GPUs.\n";
  // GitHub takes 1 MiB; newer versions first, and what does not fit is named.
  constexpr size_t most = 900'000;
  std::string left_out;
  for (size_t v = table.axes.cudnns.size(); v-- > 0;) {
    const std::string part = version_table(table, v, answers);
    if (text.size() + part.size() < most)
      text += part;
    else
      left_out += (left_out.empty() ? "" : ", ") + table.axes.cudnns[v];
  }
  if (!left_out.empty()) text += fmt::format("\nLeft out, since it would not fit here: cuDNN {}.\n", left_out);
  return text;
}

}  // namespace attnprobe::report
