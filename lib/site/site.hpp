// A matrix as a static site: a page a config, a GPU and a version, JSON beside each, a badge a config and GPU. docs/matrix.md.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <set>
#include <string>

#include "base/json.hpp"
#include "report/model/cell_log.hpp"
#include "site/answers.hpp"

namespace attnprobe::site {

/// Of every JSON document of a site, as its member "schema".
constexpr const char* schema_name = "attnprobe/site/1";

struct SiteFigures {
  size_t cells = 0, files = 0;
  uint64_t bytes = 0;
};

/// Takes a file of the site: its path from the root.
using OnFile = std::function<void(const std::string& path, const std::string& text)>;

/// Reads the cells config by config, so that one config's answers are in memory at a time, and besides a word and a reason of each cell.
/// Throws Error(usage) naming file, line and value of what is no cell, and for a log without cells.
size_t make_site(const report::CellLog& log, const std::string& title, const OnFile& on_file);

/// The paths of all files of the site whose index.json that is, a badge of each config and GPU among them.
std::set<std::string> files_of_site(const Json& index);

/// The site in a folder that is new, or was one: written beside its place and put there when it is whole. `inputs`: folders of a matrix,
/// their cells.jsonl, or reports; of a cell that is in several the last counts, and `warn` is told. Throws Error(usage) where something
/// else is at the place, Error(environment) where the disk refuses, and once `stop` is true; what was there stays.
SiteFigures write_site(const std::vector<std::filesystem::path>& inputs, const std::string& title,
                       const std::filesystem::path& folder, const std::function<void(const std::string& warning)>& warn,
                       const std::atomic<bool>* stop = nullptr);

/// JSON Schema of the documents, which is in the site as schema.json.
Json site_schema();

// The pages, each a whole document, and what JSON has of it. `table`: of one config, with the matrix' GPUs and versions.
std::string front_page(const Axes& axes, const Answers& answers);
Json front_json(const Axes& axes, const Answers& answers);
Json config_json(const Axes& axes, size_t config, const report::CellTable& table);
std::string config_page(const Axes& axes, const Answers& answers, size_t config, const report::CellTable& table,
                        const Json& json);
std::string gpu_page(const Axes& axes, const Answers& answers, size_t target);
Json gpu_json(const Axes& axes, const Answers& answers, size_t target);
std::string version_page(const Axes& axes, const Answers& answers, size_t cudnn);
Json version_json(const Axes& axes, const Answers& answers, size_t cudnn);

/// SVG: "attention on b200: yes since 9.20".
std::string badge(const Axes& axes, const Answers& answers, size_t config, size_t target);

}  // namespace attnprobe::site
