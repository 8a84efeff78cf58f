// The formats of a report. Each file of this folder defines one Format. --format, --report, their help and the files of
// a matrix use the list in formats.cpp.
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/formats/report.hpp"
#include "report/model/cells.hpp"

namespace attnprobe::report {

/// The content of a report, for any format.
struct Document {
  std::vector<Results> groups;  ///< results by question, then by target of the group
  std::optional<cudnn::LibraryInfo> library;
  TextStyle style;
  /// The command's own additions: more keys of JSON, text before and after the results. May be empty.
  std::function<void(Json& report)> add_to_json;
  std::function<std::string(const TextStyle&style)> before, after;

  Results results() const;
};

struct Format {
  std::string_view name;         ///< of --format: "junit"
  std::string_view what;         ///< its purpose, for --help
  std::string_view matrix_file;  ///< its file in a matrix's folder, "report.xml"; "" for none
  /// The writers. A format has a writer for results, or for cells; then a report's results are converted to cells. With
  /// a matrix_file it has a writer for cells, or for the log of cells. The latter writes line by line, because the
  /// cells may not fit in memory.
  std::string (*of_results)(const Document& document) = nullptr;
  std::string (*of_cells)(const CellTable& table) = nullptr;
  void (*of_log)(const CellLog& log, std::ostream& out) = nullptr;
};

/// All formats, in the order of --help.
const std::vector<Format>& formats();

std::vector<std::string> format_names();
/// The --help text of each format.
std::string format_help();

/// nullptr for an unknown name.
const Format* find_format(std::string_view name);

std::string render(const Format& format, const Document& document);

/// From the cells of a matrix, writes its files to that folder, for every format with a matrix_file.
void write_matrix_reports(const std::filesystem::path& folder, const CellLog& log, const CellTable& table);

}  // namespace attnprobe::report
