#include "studies/limits/limits_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "attention/fields.hpp"
#include "base/add_once.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"

namespace attnprobe::limits {
namespace {

// Numbered notes on why runs end, each printed once for all lines; "1" in the table.
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

std::string comma_list(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string reason_text(const Point& point) {
  const std::string category = point.word != answer::Word::no || point.category.empty() ? "" : point.category + ": ";
  return fmt::format("{}{}{}", category, point.reason, point.source.empty() ? "" : fmt::format(" ({})", point.source));
}

bool is_label_taken(const Limits& limits, const Run& run) {
  return is_taken(limits.of_label[static_cast<size_t>(run.label)]);
}

// How many numbers of a run were asked in each row of a line; "" for all.
std::string asked_text(const Limits& limits, const Line& line, const Run& run) {
  int64_t fewest = count_of(run);
  const int64_t all = fewest;
  for (const size_t row : line.rows) fewest = std::min(fewest, asked_of(limits.rows[row], run));
  return fewest == all ? "" : fmt::format(" ({} of {} asked)", fewest, all);
}

// A few numbers are listed one by one, and powers of two as such; others as runs.
std::vector<std::string> parts_of(const Limits& limits, const Line& line, const std::vector<Run>& runs,
                                  const attention::Range& range) {
  constexpr size_t few = 16;
  std::set<int64_t> numbers;
  for (const auto& run : runs)
    for (int64_t n = run.first; n <= run.last && numbers.size() <= few; n += run.step)
      if (contains(run, n)) numbers.insert(n);
  const auto is_power = [](int64_t n) { return std::has_single_bit(static_cast<uint64_t>(n)); };
  const bool are_powers = runs.size() > 2 && numbers.size() <= few &&
                          std::all_of(numbers.begin(), numbers.end(), is_power) &&
                          *numbers.begin() << (numbers.size() - 1) == *numbers.rbegin();
  if (are_powers) return {fmt::format("powers of 2 from {} to {}", *numbers.begin(), *numbers.rbegin())};
  std::vector<std::string> parts;
  if (runs.size() > 2 && numbers.size() <= few)
    for (const int64_t n : numbers) parts.push_back(std::to_string(n));
  else
    for (const auto& run : runs) parts.push_back(run_text(run, range.step) + asked_text(limits, line, run));
  return parts;
}

// The runs with an answer, and the numbers of the notes on why they end.
std::string runs_text(const Question& question, const Limits& limits, const Line& line, const std::string& label,
                      Notes& notes) {
  const Row& row = limits.rows[line.rows.front()];
  std::vector<Run> runs;
  for (const auto& run : row.runs)
    if (limits.labels[static_cast<size_t>(run.label)] == label) runs.push_back(run);
  std::vector<std::string> parts;
  if (!runs.empty()) parts = parts_of(limits, line, runs, *question.axis.range);
  std::set<size_t> numbers;
  for (size_t i = 0; i < row.points.size(); ++i)
    if (name_of(row.points[i].word) == label) {
      parts.push_back(text_of(question.axis.values[i]));
      if (!row.points[i].reason.empty()) numbers.insert(notes.add(reason_text(row.points[i])));
    }
  if (parts.empty()) return "-";
  if (line.end_compiled && !runs.empty() && runs.back().last + runs.back().step > question.axis.range->last)
    parts.back() +=
        fmt::format(" (no end found; {} {})", runs.back().last, *line.end_compiled ? "compiles" : "does not compile");
  for (const auto& edge : row.edges)
    if (limits.labels[static_cast<size_t>(edge.label)] == label) numbers.insert(notes.add(reason_text(edge.point)));
  return comma_list(parts) + (numbers.empty() ? "" : fmt::format("  [{}]", fmt::join(numbers, ", ")));
}

// The reasons of a row without support, at most two.
std::string refusal_of(const Row& row, Notes& notes) {
  std::set<size_t> numbers;
  const auto add = [&](const Point& point) {
    if (!is_taken(point) && numbers.size() < 2) numbers.insert(notes.add(reason_text(point)));
  };
  // A multiple of many numbers has the simplest reason for its refusal.
  for (const auto& [value, point] : row.asked)
    if (value % 16 == 0) add(point);
  for (const auto& [value, point] : row.asked) add(point);
  for (const auto& point : row.points) add(point);
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
  std::string text = question.configs.size() == 1 ? unvaried_words(question, question.configs.front().spec)
                                                  : fmt::format("{} configs", question.configs.size());
  if (question.cudnns.size() == 1) text += fmt::format(", cuDNN {}", question.cudnns.front().version.text());
  if (!question.assumed.empty()) text += fmt::format(" ({}, by default)", fmt::join(question.assumed, ", "));
  return text;
}

std::string asked_text(const Limits& limits) {
  if (limits.asked >= limits.cells) return fmt::format("Asked all {} values.", limits.cells);
  const int64_t widest = widest_unasked(limits);
  if (widest == 0)
    return fmt::format("Asked {} of {} values; the others contradict another field of the config.", limits.asked,
                       limits.cells);
  return fmt::format(
      "Asked {} of {} values. The others were not asked: their answers are inferred from their neighbours, with random spot "
      "checks. The longest gap is {} values.",
      limits.asked, limits.cells, widest);
}

std::string irregular_text(const Question& question, const Limits& limits) {
  size_t irregular = 0;
  for (const auto& row : limits.rows) irregular += row.surprises > 0 ? 1 : 0;
  if (irregular == 0) return "";
  return fmt::format("{} of {} rows are irregular along {}: attnprobe asked them on a finer grid.\n", irregular,
                     limits.rows.size(), question.axis.name);
}

Json json_of(const Point& point) {
  Json json = {{"answer", name_of(point.word)}};
  if (!point.category.empty()) json["category"] = point.category;
  if (!point.reason.empty()) json["reason"] = point.reason;
  if (!point.source.empty()) json["source"] = point.source;
  if (point.engine) json["engine"] = *point.engine;
  return json;
}

const char* side_name(Edge::Side side) {
  switch (side) {
    case Edge::Side::below:
      return "below";
    case Edge::Side::above:
      return "above";
    case Edge::Side::between:
      return "between";
    default:
      return "inside";
  }
}

Json json_of(const Question& question, const Limits& limits, const Row& row) {
  Json varied = Json::object(), runs = Json::array(), edges = Json::array(), points = Json::array();
  for (size_t v = 0; v < row.varied.size(); ++v) varied[question.vary[v].name] = row.varied[v];
  for (const auto& run : row.runs) {
    Json json = {{"answer", limits.labels[static_cast<size_t>(run.label)]}, {"first", run.first}, {"last", run.last}};
    json["step"] = run.step;
    json["count"] = count_of(run);
    json["asked"] = asked_of(row, run);
    if (run.except != 0) json["except_multiples_of"] = run.except;
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
  for (const auto& [place, time] : row.times)
    if (time.fastest_ms) {
      Json one = {{"value", question.axis.range ? Json(place) : question.axis.values[static_cast<size_t>(place)]}};
      if (time.first_ms) one["first_ms"] = *time.first_ms;
      one["fastest_ms"] = *time.fastest_ms;
      one["fastest_engine"] = time.fastest_engine;
      json["times"].push_back(std::move(one));
    }
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

// The merged rows and their differences.
Json json_of(const Question& question, const Line& line) {
  Json configs = Json::array(), varied = Json::object();
  for (const size_t c : line.configs) configs.push_back(question.configs[c].spec.name);
  for (size_t v = 0; v < line.varied.size(); ++v) varied[question.vary[v].name] = line.varied[v];
  Json json = {{"configs", std::move(configs)},
               {"varied", std::move(varied)},
               {"targets", targets_of(question, line)},
               {"cudnns", versions_of(question, line)},
               {"rows", line.rows}};
  if (line.end_compiled) json["end_compiled"] = *line.end_compiled;
  return json;
}

}  // namespace

std::string run_text(const Run& run, int64_t usual_step) {
  if (run.first == run.last) return std::to_string(run.first);
  std::string text = fmt::format("{}–{}", run.first, run.last);
  if (run.step != 1 || usual_step != 1) text += fmt::format(" step {}", run.step);
  if (run.except != 0) text += fmt::format(" except multiples of {}", run.except);
  return text;
}

std::string unvaried_words(const Question& question, const attention::AttentionSpec& spec) {
  std::vector<std::string> varied{question.axis.name};
  for (const auto& axis : question.vary) varied.push_back(axis.name);
  const auto is_varied = [&](const std::string& name) {
    return std::find(varied.begin(), varied.end(), name) != varied.end();
  };
  std::string text;
  for (const auto& field : attention::fields()) {
    const bool is_half = std::any_of(field.stands_for.begin(), field.stands_for.end(), is_varied);
    std::string words = is_varied(field.name) || is_half ? "" : field.words(spec);
    // The other half of a pair with one varied half.
    const auto half = std::find_if(attention::fields().begin(), attention::fields().end(), [&](const auto& other) {
      return is_half && !is_varied(other.name) &&
             std::find(field.stands_for.begin(), field.stands_for.end(), other.name) != field.stands_for.end();
    });
    if (half != attention::fields().end()) words = fmt::format("{} {}", half->name, text_of(half->get(spec)));
    if (!words.empty()) text += (text.empty() ? "" : " ") + words;
  }
  return text;
}

std::string limits_text(const Question& question, const Limits& limits, const report::TextStyle& style) {
  const Axis& axis = question.axis;
  std::string out = fmt::format("{}{}: {}\n", axis.name, axis.range ? " " + attention::text_of(*axis.range) : "",
                                what_is_asked(question));
  std::vector<std::string> head;
  if (question.configs.size() > 1) head.emplace_back("config");
  for (const auto& varied : question.vary) head.push_back(varied.name);
  head.emplace_back("GPU");
  if (question.cudnns.size() > 1) head.emplace_back("cuDNN");
  std::vector<std::string> taken;
  for (size_t i = 0; i < limits.labels.size(); ++i)
    if (is_taken(limits.of_label[i])) taken.push_back(limits.labels[i]);
  for (const auto& row : limits.rows)
    for (const auto& point : row.points)
      if (is_taken(point)) add_once(taken, std::string(name_of(point.word)));
  std::sort(taken.begin(), taken.end(), std::greater<>());
  if (taken.empty()) taken.emplace_back("yes");
  head.insert(head.end(), taken.begin(), taken.end());
  std::vector<std::vector<std::string>> rows{head};
  constexpr size_t most_named = 3;
  std::map<std::string, std::string> whole;  // fields of which a line has all values, with these values
  Notes notes;
  for (const auto& line : limits.lines) {
    const Row& first = limits.rows[line.rows.front()];
    std::vector<std::string> texts;
    if (question.configs.size() > 1) {
      std::vector<std::string> names;
      names.reserve(line.configs.size());
      for (const size_t c : line.configs) names.push_back(question.configs[c].spec.name);
      texts.push_back(comma_list(names));
    }
    for (size_t v = 0; v < line.varied.size(); ++v) {
      std::vector<std::string> words;
      words.reserve(line.varied[v].size());
      for (const auto& value : line.varied[v]) words.push_back(text_of(value));
      const bool is_all = words.size() > most_named && words.size() == count_of(question.vary[v]);
      if (is_all) whole[question.vary[v].name] = comma_list(words);
      texts.push_back(is_all ? fmt::format("all {}", words.size()) : comma_list(words));
    }
    texts.push_back(comma_list(targets_of(question, line)));
    if (question.cudnns.size() > 1) texts.push_back(comma_list(versions_of(question, line)));
    const bool nothing = std::none_of(first.runs.begin(), first.runs.end(),
                                      [&](const auto& run) { return is_label_taken(limits, run); }) &&
                         std::none_of(first.points.begin(), first.points.end(), is_taken);
    for (size_t i = 0; i < taken.size(); ++i)
      texts.push_back(nothing && i == 0 ? refusal_of(first, notes)
                                        : runs_text(question, limits, line, taken[i], notes));
    rows.push_back(std::move(texts));
  }
  out += "\n" + report::aligned(rows, 2) + "\n";
  for (const auto& [name, values] : whole)
    out += report::wrapped(fmt::format("all of {}: {}", name, values), 2, style.width);
  if (!whole.empty()) out += "\n";
  if (!notes.texts().empty()) out += "reasons\n";
  for (size_t i = 0; i < notes.texts().size(); ++i) {
    std::string note = report::wrapped(notes.texts()[i], 6, style.width);
    const std::string number = fmt::format("[{}]", i + 1);
    note.replace(2, number.size(), number);
    out += note;
  }
  out += "\n" + irregular_text(question, limits) + report::wrapped(asked_text(limits), 0, style.width);
  return printable(out);
}

Json limits_json(const Question& question, const Limits& limits, const std::string& command) {
  Json rows = Json::array(), lines = Json::array();
  for (const auto& row : limits.rows) rows.push_back(json_of(question, limits, row));
  for (const auto& line : limits.lines) lines.push_back(json_of(question, line));
  Json specs = Json::array();
  for (const auto& config : question.configs) specs.push_back(to_json(config.spec));
  Json axis = {{"field", question.axis.name}};
  if (question.axis.range)
    axis["range"] = attention::text_of(*question.axis.range);
  else
    axis["values"] = question.axis.values;
  return {
      {"schema", "attnprobe/limits/1"}, {"tool", report::tool_version()}, {"command", command},
      {"axis", std::move(axis)},        {"configs", std::move(specs)},    {"assumed", question.assumed},
      {"asked", limits.asked},          {"cells", limits.cells},          {"widest_unasked", widest_unasked(limits)},
      {"lines", std::move(lines)},      {"rows", std::move(rows)}};
}

}  // namespace attnprobe::limits
