// Maps as a page: each point with its answer, and whether it was asked.
#include <fmt/format.h>

#include "report/formats/html_page.hpp"
#include "studies/limits/limits_map.hpp"
#include "studies/limits/time_scale.hpp"

namespace attnprobe::limits {
namespace {

// A point of a page: its index in the list of points, and whether it was asked.
struct Told {
  int64_t point = 0;
  bool asked = true;
  bool operator==(const Told&) const = default;
};

class MapPayload {
 public:
  MapPayload(const Question& question, const Limits& limits) : question_(question), limits_(limits), scale_(limits) {}

  Json make(const std::string& command) {
    Json maps = Json::array();
    for (const Map& map : maps_of(question_, limits_)) maps.push_back(map_json(map));
    const Axis &across = question_.axis, &up = question_.vary.back();
    return {{"title", fmt::format("{} by {}", up.name, across.name)},
            {"tool", "attnprobe " + report::tool_version()},
            {"command", command},
            {"asked", limits_.asked},
            {"cells", limits_.cells},
            {"by", choices()},
            {"across", axis_json(across)},
            {"up", axis_json(up)},
            {"maps", std::move(maps)},
            {"points", points_.take()},
            {"times", times_json()}};
  }

 private:
  // Whether the answers in a run also agree in that property.
  bool has(Shown one) const { return question_.shown == one || question_.shown == Shown::all; }

  Json choices() const {
    Json list = Json::array({"answer"});
    if (has(Shown::engine)) list.push_back("engine");
    if (has(Shown::category)) list.push_back("category");
    if (!scale_.empty()) list.push_back("time");
    return list;
  }

  // The scale of the colours of times; null without times.
  Json times_json() const {
    if (scale_.empty()) return nullptr;
    return {
        {"shortest_ms", scale_.shortest_ms()}, {"longest_ms", scale_.longest_ms()}, {"colours", TimeScale::stops()}};
  }

  static Json axis_json(const Axis& axis) {
    Json values = Json::array();
    for (size_t i = 0; i < count_of(axis); ++i) values.push_back(text_of(value_at(axis, i)));
    return {{"name", axis.name}, {"values", std::move(values)}};
  }

  // Rows from bottom to top, each as runs of [point, whether it was asked, count].
  Json map_json(const Map& map) {
    Json rows = Json::array();
    for (const Row* row : map.rows) {
      Json runs = Json::array();
      Told last;
      for (size_t x = 0; x < count_of(question_.axis); ++x) {
        const Told told = told_at(*row, x);
        if (!runs.empty() && told == last)
          runs.back()[2] = runs.back()[2].get<int64_t>() + 1;
        else
          runs.push_back(Json::array({told.point, told.asked, 1}));
        last = told;
      }
      rows.push_back(std::move(runs));
    }
    return {{"title", map.title}, {"rows", std::move(rows)}};
  }

  Told told_at(const Row& row, size_t x) {
    const Axis& axis = question_.axis;
    const Point& point = point_at(limits_, row, axis, x);
    const bool asked = !axis.range || row.asked.contains(place_at(axis, x));
    Json json = point_json(point, asked);
    if (const auto time = row.times.find(place_at(axis, x)); time != row.times.end()) add_time(json, time->second);
    return {points_.index(json), asked};
  }

  // A point that was not asked has an answer, but no literal reason.
  Json point_json(const Point& point, bool asked) const {
    Json json = {{"answer", name_of(point.word)}};
    if (point.engine && (asked || has(Shown::engine))) json["engine"] = *point.engine;
    if (!point.category.empty() && (asked || has(Shown::category))) json["category"] = point.category;
    if (asked && !point.reason.empty()) json["reason"] = point.reason;
    if (asked && !point.source.empty()) json["source"] = point.source;
    return json;
  }

  static void add_time(Json& json, const PointTime& time) {
    if (time.first_ms) json["ms"] = *time.first_ms;
    if (!time.fastest_ms || time.fastest_ms == time.first_ms) return;
    json["fastest_ms"] = *time.fastest_ms;
    json["fastest_engine"] = time.fastest_engine;
  }

  const Question& question_;
  const Limits& limits_;
  TimeScale scale_;
  report::Interned points_;
};

}  // namespace

std::string map_html(const Question& question, const Limits& limits, const std::string& command) {
  return report::html_page("map", MapPayload(question, limits).make(command));
}

}  // namespace attnprobe::limits
