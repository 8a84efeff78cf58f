// JUnit XML for CI systems: one test suite per cuDNN and target, one test case per cell.
#include <fmt/format.h>

#include <algorithm>

#include "base/printable.hpp"
#include "report/formats/format.hpp"
#include "report/formats/junit_text.hpp"

namespace attnprobe::report {
namespace {

using answer::Verdict;

// For text and attributes. Escapes characters that XML 1.0 does not allow or that CI systems should not print.
std::string xml(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

bool is_failure_of_run(const CellAnswer& answer) {
  return answer.verdict == Verdict::error || answer.verdict == Verdict::crashed || answer.verdict == Verdict::timeout;
}

std::string expectation(const CellAnswer& answer) {
  return answer.expect.empty() ? "" : ", expected " + answer.expect;
}

// The details of a cell that does not work, or is unexpected.
std::string account_of(const CellTable& table, const Cell& cell) {
  const CellAnswer& answer = table.answer(cell);
  std::string text =
      fmt::format("{}: verdict {}{}\n", name_of(outcome_word(answer)), name_of(answer.verdict), expectation(answer));
  for (const auto& line : framework_lines(answer)) text += line + "\n";
  for (const CellObstacle& obstacle : answer.but) text += fmt::format("but {} ({})\n", obstacle.text, obstacle.source);
  if (!answer.status.empty() || !answer.reason.empty())
    text += fmt::format("cuDNN says: {}{}{}\n", answer.status,
                        answer.status.empty() || answer.reason.empty() ? "" : ": ", answer.reason);
  if (!answer.explanation.empty()) text += answer.explanation + "\n";
  for (const auto& note : answer.notes) text += note_text(note) + "\n";
  if (!answer.from.empty()) text += answer.from + "\n";
  for (const CellFramework& framework : answer.frameworks)
    for (const auto& change : framework.changes)
      text += fmt::format("workaround, by {}'s rules: {}\n", framework.title, change);
  for (const auto& advice : answer.advice) text += "workaround: " + advice + "\n";
  for (const auto& engine : answer.engines)
    if (!engine.viable)
      text += fmt::format("engine {} {}: {}{}{}\n", engine.engine, engine.knobs, engine.status,
                          engine.reason.empty() ? "" : ": ", engine.reason);
  return text + "reproduce: " + reproduce_command(table, cell) + "\n";
}

// Why a cell does not work, or is unexpected, with cuDNN's reason; otherwise "".
std::string unmet_text(const CellAnswer& answer) {
  if (answer.met) return "";
  return fmt::format("{}{}{}{}", name_of(outcome_word(answer)), expectation(answer), answer.reason.empty() ? "" : ": ",
                     answer.reason);
}

std::string junit(const CellTable& table) {
  return junit_text(table, [&](const Cell& cell) { return unmet_text(table.answer(cell)); });
}

}  // namespace

std::string junit_text(const CellTable& table, const std::function<std::string(const Cell& cell)>& failure_of) {
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
      const std::string message = failure_of(*cell);
      if (message.empty()) {
        // The cell passes, but the obstacles are still listed.
        const std::string but = obstacles_text(answer);
        cases += but.empty() ? "/>\n"
                             : fmt::format(">\n      <system-out>but {}{}{}</system-out>\n    </testcase>\n", xml(but),
                                           answer.from.empty() ? "" : "; ", xml(answer.from));
        continue;
      }
      const bool is_error = is_failure_of_run(answer);
      ++(is_error ? errors : failures);
      const char* kind = is_error ? "error" : "failure";
      cases += fmt::format(">\n      <{} type=\"{}\" message=\"{}\">{}</{}>\n    </testcase>\n", kind,
                           xml(answer.category.empty() ? std::string(name_of(answer.verdict)) : answer.category),
                           xml(message), xml(account_of(table, *cell)), kind);
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

extern const Format junit_format;
const Format junit_format{"junit", "JUnit XML, for CI", "report.xml", nullptr, junit};

}  // namespace attnprobe::report
