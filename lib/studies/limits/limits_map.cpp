// Maps of two fields, as text and as SVG.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/printable.hpp"
#include "studies/limits/limits_map.hpp"
#include "studies/limits/time_scale.hpp"

namespace attnprobe::limits {

std::vector<Map> maps_of(const Question& question, const Limits& limits) {
  std::vector<Map> maps;
  std::map<std::string, size_t> places;
  for (const auto& row : limits.rows) {
    std::string title = unvaried_words(question, question.configs[row.config].spec);
    for (size_t v = 0; v + 1 < row.varied.size(); ++v)
      title += fmt::format(", {} {}", question.vary[v].name, text_of(row.varied[v]));
    title += fmt::format(", {}, cuDNN {}", question.targets[row.target].id, question.cudnns[row.cudnn].version.text());
    const auto [place, is_new] = places.emplace(title, maps.size());
    if (is_new) maps.push_back({title, {}});
    maps[place->second].rows.push_back(&row);
  }
  return maps;
}

int64_t place_at(const Axis& axis, size_t index) {
  return axis.range ? value_at(axis, index).get<int64_t>() : static_cast<int64_t>(index);
}

namespace {

// The appearance of labels, in order of first use.
class Palette {
 public:
  size_t place_of(const std::string& label) {
    const auto known = std::find(labels_.begin(), labels_.end(), label);
    if (known != labels_.end()) return static_cast<size_t>(known - labels_.begin());
    labels_.push_back(label);
    return labels_.size() - 1;
  }
  const std::vector<std::string>& labels() const { return labels_; }

  // Distinct without colour: yes is dark, no is light.
  std::string letter(size_t place) const {
    const std::string& label = labels_[place];
    if (label == "yes") return "█";
    if (label == "but") return "▒";
    if (label == "no") return "·";
    if (label == "invalid") return " ";
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    return std::string(1, letters[place % letters.size()]);
  }

  // Greens and blues mean supported, ambers "but", greys and reds unsupported. Readers with red-green blindness can
  // distinguish them.
  std::string colour(size_t place) const {
    const std::string& label = labels_[place];
    const auto nth = std::count_if(labels_.begin(), labels_.begin() + static_cast<std::ptrdiff_t>(place),
                                   [&](const auto& other) { return other.substr(0, 2) == label.substr(0, 2); });
    const auto pick = [&](std::initializer_list<const char*> colours) {
      return std::string(*(colours.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(nth) % colours.size())));
    };
    if (label.starts_with("yes")) return pick({"#1b7837", "#2166ac", "#5aae61", "#67a9cf", "#01665e", "#8073ac"});
    if (label.starts_with("but")) return pick({"#f1a340", "#fee08b", "#d8b365"});
    if (label.starts_with("no")) return pick({"#d9d9d9", "#bdbdbd", "#fddbc7", "#ef8a62", "#c7eae5", "#969696"});
    return label == "invalid" ? "#ffffff" : "#7b3294";
  }

 private:
  std::vector<std::string> labels_;
};

std::string axis_text(const Axis& axis, size_t index) {
  return text_of(value_at(axis, index));
}

std::string asked_of(const Limits& limits) {
  return fmt::format("asked {} of {} cells", limits.asked, limits.cells);
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : printable(text))
    out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return out;
}

// The legend of the digits and colours of times.
std::string times_text(const TimeScale& scale) {
  return fmt::format("time of the first choice, from {} to {} in equal ratios", ms_text(scale.shortest_ms()),
                     ms_text(scale.longest_ms()));
}

// A bar of the scale's colours, from `x` on.
std::string times_bar(const TimeScale& scale, size_t x, size_t y) {
  constexpr size_t steps = 40, width = 5;
  std::string bar;
  for (size_t i = 0; i < steps; ++i)
    bar += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"12\" fill=\"{}\"/>", x + i * width, y, width,
                       TimeScale::colour_at(static_cast<double>(i) / (steps - 1)));
  return bar + fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", x + steps * width + 8, y + 10, times_text(scale));
}

}  // namespace

std::string map_text(const Question& question, const Limits& limits, const report::TextStyle& /*style*/) {
  const Axis& across = question.axis;
  const Axis& up = question.vary.back();
  const size_t width = count_of(across);
  const TimeScale scale(limits);
  std::string out;
  Palette palette;
  const auto letter = [&](const Row& row, size_t x) {
    const auto ms = time_at(row, place_at(across, x));
    return ms ? scale.digit(*ms)
              : palette.letter(palette.place_of(label_text(point_at(limits, row, across, x), question.shown)));
  };
  for (const auto& map : maps_of(question, limits)) {
    out += map.title + "\n\n";
    for (size_t y = map.rows.size(); y-- > 0;) {
      std::string line;
      for (size_t x = 0; x < width; ++x) line += letter(*map.rows[y], x);
      out += fmt::format("  {:>8} {}\n", axis_text(up, y), line);
    }
    const std::string first = axis_text(across, 0), last = axis_text(across, width - 1);
    const size_t gap = width > first.size() + last.size() ? width - first.size() - last.size() : 1;
    out += fmt::format("  {:>8} {}{}{}   {} up, {} across\n\n", "", first, std::string(gap, ' '), last, up.name,
                       across.name);
  }
  std::vector<std::string> legend;
  if (!scale.empty()) legend.push_back("0–9 " + times_text(scale));
  for (size_t i = 0; i < palette.labels().size(); ++i)
    if (palette.labels()[i] != "invalid") legend.push_back(palette.letter(i) + " " + palette.labels()[i]);
  return printable(out + fmt::format("{}; {}\n", fmt::join(legend, "   "), asked_of(limits)));
}

std::string map_svg(const Question& question, const Limits& limits) {
  const Axis& across = question.axis;
  const Axis& up = question.vary.back();
  const size_t width = count_of(across), height = count_of(up);
  constexpr size_t cell = 8, left = 72, top = 40, below = 60;
  const auto maps = maps_of(question, limits);
  const size_t map_height = top + height * cell + below, total_width = std::max<size_t>(left + width * cell + 24, 640);
  const TimeScale scale(limits);
  Palette palette;
  std::string body;
  for (size_t m = 0; m < maps.size(); ++m) {
    const size_t y0 = m * map_height;
    body += fmt::format("<text x=\"{}\" y=\"{}\" class=\"title\">{}</text>\n", left, y0 + 24, escaped(maps[m].title));
    for (size_t y = 0; y < maps[m].rows.size(); ++y)
      for (size_t x = 0; x < width;) {
        const std::string label = label_text(point_at(limits, *maps[m].rows[y], across, x), question.shown);
        const auto ms = time_at(*maps[m].rows[y], place_at(across, x));
        size_t end = x + 1;  // as long as the label is the same
        while (!ms && end < width && !time_at(*maps[m].rows[y], place_at(across, end)) &&
               label_text(point_at(limits, *maps[m].rows[y], across, end), question.shown) == label)
          ++end;
        const std::string colour = ms ? scale.colour(*ms) : palette.colour(palette.place_of(label));
        const std::string time = ms ? time_words(*maps[m].rows[y], place_at(across, x)) : "";
        body += fmt::format(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"><title>{} {}: {} to {}: {}{}</title></rect>\n",
            left + x * cell, y0 + top + (height - 1 - y) * cell, (end - x) * cell, cell, colour, up.name,
            escaped(axis_text(up, y)), escaped(axis_text(across, x)), escaped(axis_text(across, end - 1)),
            escaped(label), time);
        x = end;
      }
    const auto tick = [&](size_t x, size_t y, const std::string& text, const char* anchor) {
      body += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, escaped(text));
    };
    for (const size_t at : {size_t{0}, (height - 1) / 2, height - 1})
      tick(left - 6, y0 + top + (height - at) * cell, axis_text(up, at), "end");
    for (const size_t at : {size_t{0}, (width - 1) / 2, width - 1})
      tick(left + at * cell + cell / 2, y0 + top + height * cell + 16, axis_text(across, at), "middle");
    tick(left + width * cell / 2, y0 + top + height * cell + 34, across.name, "middle");
    tick(left - 6, y0 + top - 6, up.name, "end");
  }
  std::string legend;
  size_t x = left;
  const size_t bar = scale.empty() ? 0 : 24;
  for (size_t i = 0; i < palette.labels().size(); ++i) {
    legend += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{}\" stroke=\"#888\"/><text x=\"{}\" y=\"{}\">{}</text>\n",
        x, maps.size() * map_height + bar + 4, palette.colour(i), x + 18, maps.size() * map_height + bar + 14,
        escaped(palette.labels()[i]));
    x += 40 + 8 * palette.labels()[i].size();
  }
  if (bar != 0) legend += times_bar(scale, left, maps.size() * map_height + 4);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">\n"
      "<style>text{{font:12px sans-serif;fill:#222}}.title{{font-weight:bold}}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{2}{3}"
      "<text x=\"{4}\" y=\"{5}\">{6}; attnprobe {7}</text>\n</svg>\n",
      std::max(total_width, x), maps.size() * map_height + bar + 48, body, legend, left,
      maps.size() * map_height + bar + 38, asked_of(limits), report::tool_version());
}

}  // namespace attnprobe::limits
