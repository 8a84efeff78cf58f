// A matrix as a static site: one page, with JSON, per config, GPU and version, and one badge per config and GPU. See
// docs/matrix.md.
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

/// The member "schema" of every JSON document of a site.
constexpr const char* schema_name = "attnprobe/site/1";

struct SiteFigures {
  size_t cells = 0, files = 0;
  uint64_t bytes = 0;
};

/// Receives a file of the site: its path from the root, and its content.
using OnFile = std::function<void(const std::string& path, const std::string& text)>;

/// Reads the cells config by config, to keep in memory only one config's answers, plus a word and a reason per cell.
/// Throws Error(usage) naming file, line and value of an invalid cell, and for a log without cells.
size_t make_site(const report::CellLog& log, const std::string& title, const OnFile& on_file);

/// The paths of all files of a site with this index.json, including one badge per config and GPU.
std::set<std::string> files_of_site(const Json& index);

/// Writes the site to a new folder or over an old site: in a temporary folder next to it, renamed when complete.
/// `inputs`: folders of a matrix, their cells.jsonl, or reports. If a cell is in several, the last one counts and
/// `warn` is called. Throws Error(usage) if the path has anything else. Throws Error(environment) if the disk fails,
/// and once `stop` is true; the old site then remains.
SiteFigures write_site(const std::vector<std::filesystem::path>& inputs, const std::string& title,
                       const std::filesystem::path& folder, const std::function<void(const std::string& warning)>& warn,
                       const std::atomic<bool>* stop = nullptr);

/// JSON Schema of the documents: the site's schema.json.
Json site_schema();

// The pages as complete documents, and their JSON. `table`: cells of one config, with the matrix's GPUs and versions.
std::string front_page(const Axes& axes, const Answers& answers);
Json front_json(const Axes& axes, const Answers& answers);
Json config_json(const Axes& axes, size_t config, const report::CellTable& table);
std::string config_page(const Axes& axes, const Answers& answers, size_t config, const report::CellTable& table,
                        const Json& json);
std::string gpu_page(const Axes& axes, const Answers& answers, size_t target);
Json gpu_json(const Axes& axes, const Answers& answers, size_t target);
std::string version_page(const Axes& axes, const Answers& answers, size_t cudnn);
Json version_json(const Axes& axes, const Answers& answers, size_t cudnn);

/// The page that explains these ids; "" is ignored. Then its file name, to which config pages link.
std::string ids_page(const Axes& axes, const std::set<std::string>& ids);
constexpr const char* ids_file = "ids.html";
/// The id of cuDNN's reason; "" if unknown.
std::string reason_id(const report::CellAnswer& answer);

/// SVG: "attention on b200: yes since 9.20".
std::string badge(const Axes& axes, const Answers& answers, size_t config, size_t target);

}  // namespace attnprobe::site
