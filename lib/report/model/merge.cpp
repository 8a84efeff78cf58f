// Merges many matrices' folders, or reports, into one.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/error.hpp"
#include "base/input.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"
#include "report/model/cells.hpp"

namespace attnprobe::report {
namespace {

namespace fs = std::filesystem;
using asking::CellPlace;

// One input of a merge.
struct Part {
  fs::path path;
  CellHeader header;
  std::optional<CellLog> log;  // none for a report
  Json report;
  std::vector<CellPlace> places;          // of a report's results
  std::map<CellPlace, size_t> result_at;  // index of the last cell of each place

  void for_each(const std::function<void(const CellPlace&, const std::string&)>& take) const {
    if (log) return log->for_each(take);
    for (size_t i = 0; i < places.size(); ++i) take(places[i], json_text(report["results"][i]));
  }

  const Json& result(const CellPlace& place) const { return report["results"][result_at.at(place)]; }
};

// Checks only a report's results. A cell file's results are checked when the merged file is written, before it replaces
// the old file. Parsing them twice would double the time of a merge.
std::unique_ptr<Part> open_part(const fs::path& path) {
  auto part = std::make_unique<Part>();
  part->path = path;
  if (const auto file = cell_log_of(path)) {
    part->log.emplace(*file);
    part->header = part->log->header();
    return part;
  }
  part->report = load_report(path);
  const JsonView report(part->report, {input_name(path)});
  for (const JsonView& result : report.at("results").elements()) check_result(result);
  auto found = places_of_report(report);
  part->header.axes = std::move(found.axes);
  part->header.axes.command = path.string();
  part->places = std::move(found.places);
  for (size_t i = 0; i < part->places.size(); ++i) part->result_at[part->places[i]] = i;
  return part;
}

// The input of a merged cell.
struct Origin {
  size_t part = 0;
  CellPlace place;  // place in that input
  size_t hash = 0;  // digest of its text
};

// The file may have only cells of the inputs, because the merge keeps only those.
void check_replaceable(const fs::path& file, const std::vector<std::unique_ptr<Part>>& parts) {
  std::error_code absent;
  if (!fs::exists(file, absent) || fs::file_size(file, absent) == 0) return;
  for (const auto& part : parts)
    if (part->log && fs::equivalent(part->log->file(), file, absent)) return;
  throw Error(
      ErrorKind::usage,
      fmt::format(
          "{}: the folder already contains a different matrix; name another --out, or --overwrite to replace it",
          file.string()));
}

}  // namespace

Merged merge_cells(const std::vector<fs::path>& inputs, const fs::path& file, const std::string& title,
                   bool overwrite) {
  std::vector<std::unique_ptr<Part>> parts;
  parts.reserve(inputs.size());
  for (const auto& input : inputs) parts.push_back(open_part(input));
  if (!overwrite) check_replaceable(file, parts);
  OutputFile out(file);
  HeaderJoin join;
  Merged merged;
  std::map<CellPlace, Origin> cells;
  for (size_t p = 0; p < parts.size(); ++p) {
    const auto whole = join.add(parts[p]->header);
    parts[p]->for_each([&](const CellPlace& place, const std::string& cell) {
      const CellPlace there{whole.configs[place.config], whole.targets[place.target], whole.cudnns[place.cudnn]};
      const Origin origin{p, place, std::hash<std::string>()(cell)};
      const auto [known, is_new] = cells.try_emplace(there, origin);
      if (is_new || known->second.hash == origin.hash) return;
      ++merged.conflicts;
      known->second = origin;
    });
  }
  merged.differing = join.differing();
  CellHeader header = join.header();
  if (!title.empty()) header.axes.title = title;
  CellCollector table(header.axes);
  // Written next to the file, which may be an input itself, and then renamed to it.
  out.replace([&](std::ostream& to) {
    std::vector<std::optional<CellReader>> readers(parts.size());
    to << text_of(header);
    for (const auto& [place, origin] : cells) {
      const Part& part = *parts[origin.part];
      auto& reader = readers[origin.part];
      if (part.log && !reader) reader.emplace(*part.log);
      if (!part.log) {
        const Json& result = part.result(origin.place);
        table.add(place, JsonView(result, {input_name(part.path)}));
        to << line_of(place, json_text(result));
        continue;
      }
      const std::string& cell = reader->cell(origin.place);
      const JsonSource source = part.log->source_of(origin.place);
      const Json json = parse_json(cell, source, {.comments = false});
      table.add(place, JsonView(json, source));
      to << line_of(place, cell);
    }
  });
  merged.table = table.take();
  return merged;
}

}  // namespace attnprobe::report
