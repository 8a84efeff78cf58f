#include "report/model/cell_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ask/reproduce.hpp"
#include "attention/fields.hpp"
#include "base/digest.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "cudnn/library_files.hpp"
#include "cudnn/library_info.hpp"
#include "report/formats/report.hpp"
#include "report/model/cells.hpp"

namespace attnprobe::report {
namespace {

constexpr const char* cells_schema = "attnprobe/cells/1";

std::string short_digest(const std::string& text) {
  constexpr size_t length = 16;  // the line may have 100,000 of them
  return digest(text).substr(0, length);
}

MatrixAxes axes_in(const JsonView& place) {
  MatrixAxes axes;
  axes.title = place.at("title").text();
  axes.command = place.at("command").text();
  axes.configs = place.at("configs").texts();
  for (const JsonView& target : place.at("targets").elements())
    axes.targets.push_back({target.at("id").text(), target.at("name").text(), target.at("kind").text(),
                            target.at("architecture").text(),
                            static_cast<int>(target.at("sm").integer(0, std::numeric_limits<int>::max()))});
  axes.cudnns = place.at("cudnns").texts();
  check_cells(place.where(), axes.configs.size(), axes.targets.size(), axes.cudnns.size());
  return axes;
}

std::vector<std::string> digests_in(const JsonView& list, size_t count) {
  auto digests = list.texts();
  if (digests.size() != count) list.fail(fmt::format("{} digests for {} names", digests.size(), count));
  return digests;
}

MadeOf made_of_in(const JsonView& place, const MatrixAxes& axes) {
  MadeOf made_of;
  made_of.configs = digests_in(place.at("configs"), axes.configs.size());
  made_of.targets = digests_in(place.at("targets"), axes.targets.size());
  made_of.cudnns = digests_in(place.at("cudnns"), axes.cudnns.size());
  made_of.cudnn_times = digests_in(place.at("cudnn_times"), axes.cudnns.size());
  made_of.options = place.at("options").text();
  return made_of;
}

std::vector<std::string> ids_of(const std::vector<MatrixAxes::Target>& targets) {
  std::vector<std::string> ids;
  ids.reserve(targets.size());
  for (const auto& target : targets) ids.push_back(target.id);
  return ids;
}

// One axis of one matrix: names, and digests of their content.
struct Axis {
  std::vector<std::string> names;
  const std::vector<std::string>& digests;
};

std::optional<std::string> first_without(const std::vector<std::string>& names, const std::vector<std::string>& in) {
  for (const auto& name : names)
    if (std::find(in.begin(), in.end(), name) == in.end()) return name;
  return std::nullopt;
}

std::string axis_difference(const char* what, const Axis& begun, const Axis& now) {
  if (const auto gone = first_without(begun.names, now.names))
    return fmt::format("it has the {} \"{}\", which this command does not ask about", what, *gone);
  if (const auto added = first_without(now.names, begun.names))
    return fmt::format("it lacks the {} \"{}\", which this command asks about", what, *added);
  if (begun.names != now.names) return fmt::format("it has each {} in a different position", what);
  std::vector<std::string> changed;
  for (size_t i = 0; i < now.names.size(); ++i)
    if (!begun.digests[i].empty() && begun.digests[i] != now.digests[i]) changed.push_back(now.names[i]);
  if (changed.empty()) return "";
  const std::string more = changed.size() == 1 ? "" : fmt::format(" (and {} more)", changed.size() - 1);
  return fmt::format("the {} \"{}\"{} has changed since then", what, changed.front(), more);
}

std::string shown_options(const std::string& options) {
  return options.empty() ? "no options" : fmt::format("the options \"{}\"", trim(options));
}

}  // namespace

CellHeader header_of(const asking::QuestionGroup& group, const std::vector<cudnn::LibraryInfo>& cudnns,
                     const asking::PlanOptions& options, const std::string& title, const std::string& command) {
  CellHeader header;
  MatrixAxes& axes = header.axes;
  MadeOf& made_of = header.made_of.emplace();
  axes.title = title;
  axes.command = command;
  for (const auto& question : group.questions) {
    axes.configs.push_back(question.config.spec.name);
    made_of.configs.push_back(short_digest(json_text(to_json(question.config.spec))));
  }
  for (const auto& t : group.targets) {
    axes.targets.push_back({t.id, t.name, std::string(name_of(t.kind)),
                            t.architecture.empty() ? architecture_of(t.id, t.sm) : t.architecture, t.sm});
    made_of.targets.push_back(short_digest(fmt::format("{}\n{}\n{}", t.name, t.sm, json_text(t.properties))));
  }
  for (const auto& library : cudnns) {
    axes.cudnns.push_back(library.version.text());
    made_of.cudnns.push_back(cudnn::build_of_library(library.path));
    made_of.cudnn_times.push_back(cudnn::times_of_library(library.path));
  }
  check_cells("the matrix", axes.configs.size(), axes.targets.size(), axes.cudnns.size());
  made_of.options = asking::options_text(options, false);
  return header;
}

std::string text_of(const CellHeader& header) {
  Json json = {{"schema", cells_schema}, {"tool", tool_version()}, {"axes", header.axes}};
  if (header.made_of) json["made_of"] = *header.made_of;
  return json_text(json) + "\n";
}

CellHeader read_header(const JsonView& line) {
  line.at("schema").word({cells_schema});
  CellHeader header;
  header.axes = axes_in(line.at("axes"));
  if (const auto made_of = line.find_set("made_of")) header.made_of = made_of_in(*made_of, header.axes);
  return header;
}

std::string difference(const CellHeader& begun, const CellHeader& now) {
  if (!begun.made_of || !now.made_of)
    return "it does not record its configs, targets and options (written by an older attnprobe or a merge of different parts)";
  const MadeOf &then = *begun.made_of, &today = *now.made_of;
  std::string found = axis_difference("config", {begun.axes.configs, then.configs}, {now.axes.configs, today.configs});
  if (found.empty())
    found = axis_difference("target", {ids_of(begun.axes.targets), then.targets},
                            {ids_of(now.axes.targets), today.targets});
  if (found.empty())
    found = axis_difference("cuDNN", {begun.axes.cudnns, then.cudnns}, {now.axes.cudnns, today.cudnns});
  if (found.empty())
    found = axis_difference("cuDNN", {begun.axes.cudnns, then.cudnn_times}, {now.axes.cudnns, today.cudnn_times});
  if (found.empty() && then.options != today.options)
    found = fmt::format("it was asked with {}, now with {}", shown_options(then.options), shown_options(today.options));
  return found;
}

namespace {

// Indices of one list's entries in another list, which receives missing entries.
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

// Fills in missing digests from a part; calls `differ` for each place with another digest.
template <class F>
void join_digests(std::vector<std::string>& all, const std::vector<std::string>& some,
                  const std::vector<size_t>& places, F&& differ) {
  for (size_t i = 0; i < places.size(); ++i) {
    const bool is_new = places[i] >= all.size();
    if (is_new) all.resize(places[i] + 1);
    std::string& digest = all[places[i]];
    if (is_new)
      digest = some[i];
    else if (!digest.empty() && digest != some[i])
      differ(places[i]);
  }
}

}  // namespace

HeaderJoin::Places HeaderJoin::add(const CellHeader& part) {
  const MatrixAxes& axes = part.axes;
  if (axes_.title.empty()) axes_.title = axes.title;
  if (axes_.command.empty())
    axes_.command = axes.command;
  else if (axes_.command != axes.command)
    axes_.command += "; " + axes.command;
  Places places{join(axes_.configs, axes.configs), join(axes_.targets, axes.targets), join(axes_.cudnns, axes.cudnns)};
  if (!part.made_of) {
    is_known_ = false;
    return places;
  }
  const auto differs = [&](const char* what, const auto& name_of_place) {
    return [this, what, name_of_place](size_t place) {
      is_known_ = false;
      differing_.push_back(fmt::format("the {} \"{}\"", what, name_of_place(place)));
    };
  };
  const MadeOf& some = *part.made_of;
  join_digests(made_of_.configs, some.configs, places.configs,
               differs("config", [this](size_t place) { return axes_.configs[place]; }));
  join_digests(made_of_.targets, some.targets, places.targets,
               differs("target", [this](size_t place) { return axes_.targets[place].id; }));
  join_digests(made_of_.cudnns, some.cudnns, places.cudnns,
               differs("cuDNN", [this](size_t place) { return axes_.cudnns[place]; }));
  // Copies of the same build on several machines are common.
  join_digests(made_of_.cudnn_times, some.cudnn_times, places.cudnns,
               [this](size_t place) { made_of_.cudnn_times[place].clear(); });
  if (!is_first_ && made_of_.options != some.options) is_known_ = false;
  made_of_.options = some.options;
  is_first_ = false;
  return places;
}

CellHeader HeaderJoin::header() const {
  return {axes_, is_known_ ? std::optional(made_of_) : std::nullopt};
}

}  // namespace attnprobe::report
