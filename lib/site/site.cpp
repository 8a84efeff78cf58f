// Writes all files of a site from the cells of a matrix.
#include "site/site.hpp"

#include <fmt/format.h>

#include <optional>

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/json_reader.hpp"
#include "base/text.hpp"

namespace attnprobe {
extern const EmbeddedFiles embedded_site;  // lib/site/page
}

namespace attnprobe::site {
namespace {

using asking::CellPlace;
using report::CellLog;

// The reason of a no, or the obstacle of a but.
std::string why_of(const report::CellAnswer& answer) {
  if (answer.word == Word::but) return report::obstacles_text(answer);
  if (answer.word == Word::yes) return "";
  return !answer.reason.empty() ? answer.reason : !answer.explanation.empty() ? answer.explanation : answer.category;
}

std::string document(const Json& json) {
  return json_text(json) + "\n";
}

class Maker {
 public:
  Maker(const CellLog& log, const std::string& title, const OnFile& on_file)
      : log_(log),
        axes_(axes_of(log.axes(), title)),
        answers_(axes_.configs.size(), axes_.targets.size(), axes_.cudnns.size()),
        on_file_(on_file) {
    for (size_t t = 0; t < axes_.target_places.size(); ++t) target_at_[axes_.target_places[t]] = t;
    for (size_t v = 0; v < axes_.cudnn_places.size(); ++v) cudnn_at_[axes_.cudnn_places[v]] = v;
  }

  size_t make() {
    report::CellReader reader(log_);
    for (size_t c = 0; c < axes_.configs.size(); ++c) make_config(c, reader);
    for (size_t t = 0; t < axes_.targets.size(); ++t)
      make_page("gpu/" + axes_.targets[t].address + "/", gpu_page(axes_, answers_, t), gpu_json(axes_, answers_, t));
    for (size_t v = 0; v < axes_.cudnns.size(); ++v)
      make_page("cudnn/" + axes_.cudnns[v].address + "/", version_page(axes_, answers_, v),
                version_json(axes_, answers_, v));
    make_page("", front_page(axes_, answers_), front_json(axes_, answers_));
    on_file_(ids_file, ids_page(axes_, ids_));
    on_file_("schema.json", json_text(site_schema(), 2) + "\n");
    for (const auto& [name, text] : embedded_site) on_file_(std::string(name), std::string(text));
    return cells_;
  }

 private:
  void make_page(const std::string& folder, const std::string& page, const Json& json) {
    on_file_(folder + "index.html", page);
    on_file_(folder + "index.json", document(json));
  }

  // In file order, so that the file is read once from start to end.
  report::CellTable table_of(size_t config, report::CellReader& reader) {
    report::MatrixAxes axes = log_.axes();
    axes.configs = {axes.configs[config]};
    report::CellCollector collector(std::move(axes));
    for (size_t t = 0; t < axes_.targets.size(); ++t)
      for (size_t v = 0; v < axes_.cudnns.size(); ++v) {
        const CellPlace place{config, t, v};
        if (!log_.has(place)) continue;
        const JsonSource source = log_.source_of(place);
        const Json cell = parse_json(reader.cell(place), source, {.comments = false});
        collector.add({0, t, v}, JsonView(cell, source));
        ++cells_;
      }
    return collector.take();
  }

  void make_config(size_t c, report::CellReader& reader) {
    const report::CellTable table = table_of(c, reader);
    axes_.summaries[c] = table.configs.front().summary;
    for (const report::Cell& cell : table.cells) {
      const report::CellAnswer& answer = table.answer(cell);
      answers_.set(c, target_at_.at(cell.place.target), cudnn_at_.at(cell.place.cudnn), report::outcome_word(answer),
                   why_of(answer));
      ids_.insert(reason_id(answer));
      for (const auto& note : answer.notes) ids_.insert(note.id);
    }
    const Json json = config_json(axes_, c, table);
    make_page(axes_.configs[c].address + "/", config_page(axes_, answers_, c, table, json), json);
    for (size_t t = 0; t < axes_.targets.size(); ++t)
      if (answers_.newest(c, t).word != Word::not_asked)
        on_file_(fmt::format("badge/{}/{}.svg", axes_.configs[c].address, axes_.targets[t].address),
                 badge(axes_, answers_, c, t));
  }

  const CellLog& log_;
  Axes axes_;
  Answers answers_;
  std::set<std::string> ids_;  // ids in the answers
  const OnFile& on_file_;
  std::map<size_t, size_t> target_at_, cudnn_at_;  // from the matrix's indices to the site's
  size_t cells_ = 0;
};

}  // namespace

size_t make_site(const CellLog& log, const std::string& title, const OnFile& on_file) {
  if (log.size() == 0) throw Error(ErrorKind::usage, log.file().string() + ": it has no cells");
  return Maker(log, title, on_file).make();
}

std::set<std::string> files_of_site(const Json& index) {
  std::set<std::string> files{"schema.json", ids_file};
  for (const auto& [name, text] : embedded_site) files.emplace(name);
  const auto add_page = [&](const std::string& folder) {
    for (const char* name : {"index.html", "index.json"}) files.insert(folder + name);
  };
  const auto addresses = [&](const char* list) {
    std::vector<std::string> found;
    if (const auto entries = index.find(list); entries != index.end() && entries->is_array())
      for (const Json& entry : *entries)
        if (entry.is_object() && entry.contains("address") && entry["address"].is_string())
          found.push_back(entry["address"]);
    return found;
  };
  add_page("");
  for (const auto& target : addresses("targets")) add_page("gpu/" + target + "/");
  for (const auto& version : addresses("cudnns")) add_page("cudnn/" + version + "/");
  for (const auto& config : addresses("configs")) {
    add_page(config + "/");
    for (const auto& target : addresses("targets")) files.insert(fmt::format("badge/{}/{}.svg", config, target));
  }
  return files;
}

}  // namespace attnprobe::site
