// One cell per line, for spreadsheets (RFC 4180).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/number.hpp"
#include "report/formats/format.hpp"
#include "report/model/measurements.hpp"

namespace attnprobe::report {
namespace {

// -1.5e-7, but not a formula (-1+cmd) or a word (-inf).
bool is_number(const std::string& text) {
  const auto value = parse_number<double>(text);
  return value && std::isfinite(*value);
}

// A spreadsheet runs text with such a start as a formula; an apostrophe marks it as text.
std::string as_no_formula(const std::string& text) {
  constexpr std::string_view begins_formula = "=+-@\t\r\n";
  const bool may_be_formula = !text.empty() && begins_formula.find(text[0]) != std::string_view::npos;
  return may_be_formula && !is_number(text) ? "'" + text : text;
}

// RFC 4180: quoted if necessary, with doubled quotes.
std::string csv_field(const std::string& given) {
  std::string text = as_no_formula(given);
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

// As in JSON; "" if it was not measured.
std::string figure_text(const CellEngine& engine, std::string_view key) {
  const auto value = engine.figure(key);
  return value ? fmt::format("{}", *value) : "";
}

std::string csv(const CellTable& table) {
  std::vector<std::string> head{"config", "summary", "pattern",       "pass",       "dtype",    "target",
                                "sm",     "kind",    "cudnn",         "usable",     "but",      "verdict",
                                "expect", "met",     "viable",        "candidates", "category", "status",
                                "reason", "graph",   "graph_pattern", "engine",     "knobs",    "from"};
  for (const Measurement& measured : measurements())
    if (measured.in_csv) head.emplace_back(measured.key);
  head.insert(head.end(), {"frontend_refuses", "notes", "frameworks", "what_helps"});
  std::string text = csv_line(head);
  for (const Cell& cell : table.cells) {
    const CellAnswer& answer = table.answer(cell);
    const CellConfig& config = table.configs[cell.place.config];
    const auto& target = table.target(cell);
    const CellEngine* best = fastest(answer);
    // Without times: the first viable config, which a program would use.
    const auto first =
        std::find_if(answer.engines.begin(), answer.engines.end(), [](const auto& e) { return e.viable; });
    const CellEngine* chosen = best != nullptr ? best : first == answer.engines.end() ? nullptr : &*first;
    std::vector<std::string> line{table.config(cell),
                                  config.summary,
                                  config.pattern,
                                  config.pass,
                                  config.dtype,
                                  target.id,
                                  std::to_string(target.sm),
                                  target.kind,
                                  table.cudnn(cell),
                                  std::string(name_of(answer.word)),
                                  obstacles_text(answer),
                                  std::string(name_of(answer.verdict)),
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
                                  answer.from};
    for (const Measurement& measured : measurements())
      if (measured.in_csv) line.push_back(best == nullptr ? "" : figure_text(*best, measured.key));
    std::vector<std::string> notes;
    for (const CellObstacle& note : answer.notes) notes.push_back(note_text(note));
    line.insert(line.end(), {answer.frontend, fmt::format("{}", fmt::join(notes, " ; ")),
                             fmt::format("{}", fmt::join(framework_lines(answer), " ; ")),
                             fmt::format("{}", fmt::join(answer.advice, " ; "))});
    text += csv_line(line);
  }
  return text;
}

}  // namespace

extern const Format csv_format;
const Format csv_format{"csv", "a table, one line per cell", "report.csv", nullptr, csv};

}  // namespace attnprobe::report
