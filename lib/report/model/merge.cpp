// Many matrices' folders, or reports, as one.
#include <fmt/format.h>

#include "base/input.hpp"
#include "base/text.hpp"
#include "report/model/cells.hpp"

namespace attnprobe::report {
namespace {

namespace fs = std::filesystem;
using campaign::CellPlace;

// Indices of one list's entries in another, which gets those that it lacks.
template <class T>
std::vector<size_t> join(std::vector<T>& all, const std::vector<T>& some) {
  std::vector<size_t> places;
  for (const T& one : some) {
    const auto found = std::find(all.begin(), all.end(), one);
    places.push_back(static_cast<size_t>(found - all.begin()));
    if (found == all.end()) all.push_back(one);
  }
  return places;
}

// One input of a merge.
struct Part {
  MatrixAxes axes;
  std::optional<CellLog> log;  // else a report
  Json report;
  std::vector<CellPlace> places;

  void for_each(const std::function<void(const CellPlace&, const std::string&)>& take) const {
    if (log) return log->for_each(take);
    for (size_t i = 0; i < places.size(); ++i) take(places[i], json_text(report["results"][i]));
  }
};

// The results of a report are checked here, where its name is known. Those of a cell file are when the merged file is
// read: to parse them twice would double the time of a merge.
std::unique_ptr<Part> open_part(const fs::path& path) {
  auto part = std::make_unique<Part>();
  if (const auto file = cell_log_of(path)) {
    part->log.emplace(*file);
    part->axes = part->log->axes();
    return part;
  }
  part->report = load_report(path);
  const JsonView report(part->report, {input_name(path)});
  for (const JsonView& result : report.at("results").elements()) check_result(result);
  auto found = places_of_report(report);
  part->axes = std::move(found.axes);
  part->axes.command = path.string();
  part->places = std::move(found.places);
  return part;
}

}  // namespace

size_t merge_cells(const std::vector<fs::path>& inputs, const fs::path& file, const std::string& title) {
  std::vector<std::unique_ptr<Part>> parts;
  MatrixAxes axes;
  axes.title = title;
  for (const auto& input : inputs) {
    parts.push_back(open_part(input));
    const MatrixAxes& more = parts.back()->axes;
    join(axes.configs, more.configs);
    join(axes.targets, more.targets);
    join(axes.cudnns, more.cudnns);
    if (axes.title.empty()) axes.title = more.title;
    if (axes.command.empty())
      axes.command = more.command;
    else if (axes.command != more.command)
      axes.command += "; " + more.command;
  }
  CellLog merged(file, axes, false);
  std::map<CellPlace, size_t> seen;  // hashes of the cells
  size_t conflicts = 0;
  for (const auto& part : parts) {
    const auto configs = join(axes.configs, part->axes.configs), targets = join(axes.targets, part->axes.targets),
               cudnns = join(axes.cudnns, part->axes.cudnns);
    part->for_each([&](const CellPlace& place, const std::string& cell) {
      const CellPlace there{configs[place.config], targets[place.target], cudnns[place.cudnn]};
      const size_t hash = std::hash<std::string>()(cell);
      const auto [known, is_new] = seen.try_emplace(there, hash);
      if (!is_new && known->second == hash) return;
      conflicts += is_new ? 0 : 1;
      known->second = hash;
      merged.add(there, cell);
    });
  }
  merged.sort();
  return conflicts;
}

}  // namespace attnprobe::report
