#include "limits/lines.hpp"

#include <algorithm>
#include <iterator>

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

// Lines that are alike and equal in everything but what `part` gives become one.
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
  const auto add = [&](Side side, int64_t value, const Point& point) { row.edges.push_back({side, value, point}); };
  for (const Run& run : row.runs) {
    if (!is_taken(of_label[static_cast<size_t>(run.label)])) continue;
    // The nearest that was asked on either side and is not taken; the search has asked the next one of the same kind.
    const auto above = std::find_if(row.asked.upper_bound(run.last), row.asked.end(),
                                    [](const auto& one) { return !is_taken(one.second); });
    const int64_t reach = std::max(run.step, range.step);
    if (above != row.asked.end() && run.last < range.last) {
      // Of a run of multiples: the next multiple says why it ends, a number between does not.
      const auto next = row.asked.find(run.last + reach);
      const auto& why = next != row.asked.end() && !is_taken(next->second) ? *next : *above;
      add(Side::above, why.first, why.second);
    }
    const auto below = std::find_if(std::make_reverse_iterator(row.asked.lower_bound(run.first)), row.asked.rend(),
                                    [](const auto& one) { return !is_taken(one.second); });
    if (below != row.asked.rend() && run.first - range.first >= reach) add(Side::below, below->first, below->second);
    const auto between = std::find_if(row.asked.lower_bound(run.first), row.asked.upper_bound(run.last),
                                      [](const auto& one) { return !is_taken(one.second); });
    if (between != row.asked.end() && between->first < run.last && !is_taken(between->second))
      add(Side::between, between->first, between->second);
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

}  // namespace attnprobe::limits
