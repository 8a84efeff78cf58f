#include "report/formats/limits_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attention/fields.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"

namespace attnprobe::report {
namespace {

using limits::Edge;
using limits::Limits;
using limits::Line;
using limits::Point;
using limits::Question;
using limits::Row;

// Why a run ends, said once for all lines; "1" in the table.
class Notes {
 public:
  // The number of the note.
  size_t add(const std::string& text) {
    const auto known = std::find(texts_.begin(), texts_.end(), text);
    if (known != texts_.end()) return static_cast<size_t>(known - texts_.begin()) + 1;
    texts_.push_back(text);
    return texts_.size();
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
};

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string reason_text(const Point& point) {
  const std::string category = point.category.empty() || point.category == "invalid" ? "" : point.category + ": ";
  return fmt::format("{}{}{}", category, point.reason, point.source.empty() ? "" : fmt::format(" ({})", point.source));
}

bool is_label_taken(const Limits& limits, const limits::Run& run) {
  return limits::is_taken(limits.of_label[static_cast<size_t>(run.label)]);
}

// The runs with an answer, and the numbers of the notes that say why they end.
std::string runs_text(const Question& question, const Limits& limits, const Line& line, const std::string& label,
                      Notes& notes) {
  const Row& row = limits.rows[line.rows.front()];
  std::vector<std::string> parts;
  for (const auto& run : row.runs)
    if (limits.labels[static_cast<size_t>(run.label)] == label) parts.push_back(run_text(run));
  for (size_t i = 0; i < row.points.size(); ++i)
    if (row.points[i].word == label) parts.push_back(limits::text_of(question.axis.values[i]));
  if (parts.empty()) return "-";
  if (line.end_compiled && is_label_taken(limits, row.runs.back()))
    parts.back() += fmt::format(" (no end found; {} {})", question.axis.range->last,
                                *line.end_compiled ? "compiles" : "does not compile");
  std::set<size_t> numbers;
  for (const auto& edge : row.edges) numbers.insert(notes.add(reason_text(edge.point)));
  std::string text = joined(parts);
  if (!numbers.empty()) text += fmt::format("  [{}]", fmt::join(numbers, ", "));
  return text;
}

// A row of which nothing is taken: why not, at most two reasons.
std::string refusal_of(const Limits& limits, const Row& row, Notes& notes) {
  std::set<size_t> numbers;
  const auto add = [&](const Point& point) {
    if (!limits::is_taken(point) && numbers.size() < 2) numbers.insert(notes.add(reason_text(point)));
  };
  // The largest multiple is refused for the plainest reason.
  for (auto one = row.asked.rbegin(); one != row.asked.rend(); ++one) add(one->second);
  for (const auto& point : row.points) add(point);
  static_cast<void>(limits);
  return fmt::format("none  [{}]", fmt::join(numbers, ", "));
}

std::vector<std::string> targets_of(const Question& question, const Line& line) {
  std::vector<std::string> names;
  for (const size_t t : line.targets) names.push_back(question.targets[t].id);
  return names;
}

std::vector<std::string> versions_of(const Question& question, const Line& line) {
  std::vector<std::string> names;
  for (const size_t v : line.cudnns) names.push_back(question.cudnns[v].version.text());
  return names;
}

std::string what_is_asked(const Question& question) {
  const auto& spec = question.configs.front().spec;
  std::string text = question.configs.size() == 1 ? describe(spec) : fmt::format("{} configs", question.configs.size());
  if (question.cudnns.size() == 1) text += fmt::format(", cuDNN {}", question.cudnns.front().version.text());
  return text;
}

std::string asked_text(const Limits& limits) {
  return fmt::format(
      "Asked {} of {} cells ({:.2g} %); the rest follows from their neighbours and was tried at random places.",
      limits.asked, limits.cells, 100.0 * static_cast<double>(limits.asked) / static_cast<double>(limits.cells));
}

std::string irregular_text(const Question& question, const Limits& limits) {
  size_t irregular = 0;
  for (const auto& row : limits.rows) irregular += row.surprises > 0 ? 1 : 0;
  if (irregular == 0) return "";
  return fmt::format("{} of {} rows are not regular along {}: they were asked at a finer grid.\n", irregular,
                     limits.rows.size(), question.axis.name);
}

Json json_of(const Point& point) {
  Json json = {{"answer", point.word}};
  if (!point.category.empty()) json["category"] = point.category;
  if (!point.reason.empty()) json["reason"] = point.reason;
  if (!point.source.empty()) json["source"] = point.source;
  if (point.engine) json["engine"] = *point.engine;
  return json;
}

const char* side_name(Edge::Side side) {
  return side == Edge::Side::above ? "above" : side == Edge::Side::below ? "below" : "between";
}

Json json_of(const Question& question, const Limits& limits, const Row& row) {
  Json varied = Json::object(), runs = Json::array(), edges = Json::array(), points = Json::array();
  for (size_t v = 0; v < row.varied.size(); ++v) varied[question.vary[v].name] = row.varied[v];
  for (const auto& run : row.runs) {
    Json json = {{"answer", limits.labels[static_cast<size_t>(run.label)]}, {"first", run.first}, {"last", run.last}};
    json[run.is_besides ? "except_multiples_of" : "step"] = run.step;
    runs.push_back(std::move(json));
  }
  for (const auto& edge : row.edges) {
    Json json = json_of(edge.point);
    json["side"] = side_name(edge.side);
    json["value"] = edge.value;
    edges.push_back(std::move(json));
  }
  for (size_t i = 0; i < row.points.size(); ++i) {
    Json json = json_of(row.points[i]);
    json["value"] = question.axis.values[i];
    points.push_back(std::move(json));
  }
  Json json = {{"config", question.configs[row.config].spec.name},
               {"target", question.targets[row.target].id},
               {"cudnn", question.cudnns[row.cudnn].version.text()},
               {"varied", std::move(varied)}};
  if (question.axis.range) {
    json["runs"] = std::move(runs);
    json["edges"] = std::move(edges);
    json["asked"] = row.asked.size();
    json["surprises"] = row.surprises;
  } else {
    json["values"] = std::move(points);
  }
  return json;
}

}  // namespace

std::string run_text(const limits::Run& run) {
  if (run.first == run.last) return std::to_string(run.first);
  if (run.is_besides) return fmt::format("{}–{} except multiples of {}", run.first, run.last, run.step);
  return fmt::format("{}–{}{}", run.first, run.last, run.step == 1 ? "" : fmt::format(" step {}", run.step));
}

std::string limits_text(const Question& question, const Limits& limits, const TextStyle& style) {
  const limits::Axis& axis = question.axis;
  std::string out = fmt::format("{}{}: {}\n", axis.name, axis.range ? " " + attention::text_of(*axis.range) : "",
                                what_is_asked(question));
  std::vector<std::string> head;
  if (question.configs.size() > 1) head.emplace_back("config");
  for (const auto& varied : question.vary) head.push_back(varied.name);
  head.emplace_back("GPU");
  if (question.cudnns.size() > 1) head.emplace_back("cuDNN");
  std::vector<std::string> taken;
  for (size_t i = 0; i < limits.labels.size(); ++i)
    if (limits::is_taken(limits.of_label[i])) taken.push_back(limits.labels[i]);
  for (const auto& row : limits.rows)
    for (const auto& point : row.points)
      if (limits::is_taken(point) && std::find(taken.begin(), taken.end(), point.word) == taken.end())
        taken.push_back(point.word);
  std::sort(taken.begin(), taken.end(), std::greater<>());
  if (taken.empty()) taken.emplace_back("yes");
  head.insert(head.end(), taken.begin(), taken.end());
  std::vector<std::vector<std::string>> rows{head};
  Notes notes;
  for (const auto& line : limits.lines) {
    const Row& first = limits.rows[line.rows.front()];
    std::vector<std::string> cells;
    if (question.configs.size() > 1) {
      std::vector<std::string> names;
      for (const size_t c : line.configs) names.push_back(question.configs[c].spec.name);
      cells.push_back(joined(names));
    }
    for (const auto& values : line.varied) {
      std::vector<std::string> words;
      for (const auto& value : values) words.push_back(limits::text_of(value));
      cells.push_back(joined(words));
    }
    cells.push_back(joined(targets_of(question, line)));
    if (question.cudnns.size() > 1) cells.push_back(joined(versions_of(question, line)));
    const bool none = std::none_of(first.runs.begin(), first.runs.end(),
                                   [&](const auto& run) { return is_label_taken(limits, run); }) &&
                      std::none_of(first.points.begin(), first.points.end(), limits::is_taken);
    for (size_t i = 0; i < taken.size(); ++i)
      cells.push_back(none && i == 0 ? refusal_of(limits, first, notes)
                                     : runs_text(question, limits, line, taken[i], notes));
    rows.push_back(std::move(cells));
  }
  out += "\n" + aligned(rows, 2) + "\n";
  if (!notes.texts().empty()) out += "why it is so\n";
  for (size_t i = 0; i < notes.texts().size(); ++i) {
    std::string note = wrapped(notes.texts()[i], 6, style.width);
    const std::string number = fmt::format("[{}]", i + 1);
    note.replace(2, number.size(), number);
    out += note;
  }
  out += "\n" + irregular_text(question, limits) + asked_text(limits) + "\n";
  return printable(out);
}

Json limits_json(const Question& question, const Limits& limits, const std::string& command) {
  Json rows = Json::array();
  for (const auto& row : limits.rows) rows.push_back(json_of(question, limits, row));
  Json configs = Json::array();
  for (const auto& config : question.configs) configs.push_back(to_json(config.spec));
  Json axis = {{"field", question.axis.name}};
  if (question.axis.range)
    axis["range"] = attention::text_of(*question.axis.range);
  else
    axis["values"] = question.axis.values;
  return {{"schema", "attnprobe/limits/1"}, {"tool", tool_version()},        {"command", command},
          {"axis", std::move(axis)},        {"configs", std::move(configs)}, {"asked", limits.asked},
          {"cells", limits.cells},          {"rows", std::move(rows)}};
}

}  // namespace attnprobe::report
