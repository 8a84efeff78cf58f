#include "studies/limits/lines.hpp"

#include <algorithm>

namespace attnprobe::limits {
namespace {

using Side = Edge::Side;

bool is_alike(const Row& a, const Row& b) {
  const auto same_word = [](const Point& x, const Point& y) { return x.word == y.word; };
  return a.runs == b.runs && std::equal(a.points.begin(), a.points.end(), b.points.begin(), b.points.end(), same_word);
}

template <class T>
void append(std::vector<T>& list, const std::vector<T>& more) {
  for (const auto& one : more)
    if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(one);
}

// Merges lines that are equal except for what `part` returns.
template <class Part>
void join(std::vector<Line>& lines, const std::vector<Row>& rows, const Part& part) {
  std::vector<Line> joined;
  for (auto& line : lines) {
    const auto differs_in_it_alone = [&](Line& other) {
      if (!is_alike(rows[line.rows.front()], rows[other.rows.front()])) return false;
      Line same = other;
      part(same) = part(line);
      return same.configs == line.configs && same.targets == line.targets && same.cudnns == line.cudnns &&
             same.varied == line.varied;
    };
    const auto other = std::find_if(joined.begin(), joined.end(), differs_in_it_alone);
    if (other == joined.end()) {
      joined.push_back(std::move(line));
      continue;
    }
    append(part(*other), part(line));
    append(other->rows, line.rows);
  }
  lines = std::move(joined);
}

}  // namespace

void add_edges(Row& row, const std::vector<Point>& of_label, const attention::Range& range) {
  const auto is_refused = [](const auto& asked) { return !is_taken(asked.second); };
  for (const Run& run : row.runs) {
    const Point& its = of_label[static_cast<size_t>(run.label)];
    if (!is_taken(its)) continue;
    const auto add = [&](Side side, const std::pair<const int64_t, Point>& asked) {
      row.edges.push_back({side, run.label, asked.first, asked.second});
    };
    // The next number of the same kind explains the end of a run, and the search has asked it; a number in between does
    // not.
    const auto next_to = [&](int64_t end, int64_t step) {
      const auto next = row.asked.find(end + step);
      return next != row.asked.end() && is_refused(*next) ? next : row.asked.end();
    };
    if (const auto next = next_to(run.last, run.step); next != row.asked.end())
      add(Side::above, *next);
    else if (const auto any = next_to(run.last, range.step); any != row.asked.end())
      add(Side::above, *any);
    if (const auto next = next_to(run.first, -run.step); next != row.asked.end()) add(Side::below, *next);
    const auto end = row.asked.upper_bound(run.last);
    const auto between = std::find_if(row.asked.lower_bound(run.first), end, is_refused);
    if (between != end) add(Side::between, *between);
    if (its.word != answer::Word::but) continue;
    const auto inside = std::find_if(row.asked.lower_bound(run.first), end, [&](const auto& asked) {
      return contains(run, asked.first) && asked.second.word == its.word;
    });
    if (inside != end) add(Side::inside, *inside);
  }
}

std::vector<Line> lines_of(const std::vector<Row>& rows) {
  std::vector<Line> lines;
  lines.reserve(rows.size());
  for (size_t r = 0; r < rows.size(); ++r) {
    Line line{.configs = {rows[r].config},
              .targets = {rows[r].target},
              .cudnns = {rows[r].cudnn},
              .varied = {},
              .rows = {r},
              .end_compiled = {}};
    for (const auto& value : rows[r].varied) line.varied.push_back({value});
    lines.push_back(std::move(line));
  }
  join(lines, rows, [](Line& line) -> std::vector<size_t>& { return line.targets; });
  join(lines, rows, [](Line& line) -> std::vector<size_t>& { return line.cudnns; });
  const size_t varied = rows.empty() ? 0 : rows.front().varied.size();
  for (size_t v = varied; v-- > 0;) join(lines, rows, [v](Line& line) -> std::vector<Json>& { return line.varied[v]; });
  join(lines, rows, [](Line& line) -> std::vector<size_t>& { return line.configs; });
  return lines;
}

int64_t asked_of(const Row& row, const Run& run) {
  return std::count_if(row.asked.lower_bound(run.first), row.asked.upper_bound(run.last),
                       [&](const auto& asked) { return contains(run, asked.first); });
}

int64_t widest_unasked(const Limits& limits) {
  int64_t widest = 0;
  for (const Row& row : limits.rows)
    for (const Run& run : row.runs) {
      int64_t before = run.first;  // the next one that may be unasked
      for (const auto& [value, point] : row.asked)
        if (contains(run, value)) {
          widest = std::max(widest, (value - before) / run.step);
          before = value + run.step;
        }
      widest = std::max(widest, (run.last - before) / run.step + 1);
    }
  return widest;
}

}  // namespace attnprobe::limits
