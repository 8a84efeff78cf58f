// The formats of a report. Each is a file of this folder that defines one Format; formats.cpp lists them, and from that
// list come --format, --report, their help, and the files of a matrix.
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

/// What a report of results is made of, whatever its format.
struct Document {
  std::vector<Results> groups;  ///< each: questions in order, every one on every target of the group in turn
  std::optional<cudnn::LibraryInfo> library;
  TextStyle style;
  /// What a command says beside the results: further keys of JSON, text before and after them. May be empty.
  std::function<void(Json& report)> add_to_json;
  std::function<std::string(const TextStyle&style)> before, after;

  Results results() const;
};

struct Format {
  std::string_view name;         ///< of --format: "junit"
  std::string_view what;         ///< what it is for, in --help
  std::string_view matrix_file;  ///< its file in a matrix's folder, "report.xml"; "" where a matrix has none
  /// The writers, of which a format has one for results (or cells, which a report's results are made into), and for a
  /// matrix_file one of cells or of the log of cells, line by line where they would not fit in memory.
  std::string (*of_results)(const Document& document) = nullptr;
  std::string (*of_cells)(const CellTable& table) = nullptr;
  void (*of_log)(const CellLog& log, std::ostream& out) = nullptr;
};

/// All of them, in the order of --help.
const std::vector<Format>& formats();

std::vector<std::string> format_names();
/// "table: for people; json: …".
std::string format_help();

/// nullptr if there is none of that name.
const Format* find_format(std::string_view name);

std::string render(const Format& format, const Document& document);

/// The files of a matrix in that folder, of every format that has one, from its cells.
void write_matrix_reports(const std::filesystem::path& folder, const CellLog& log, const CellTable& table);

}  // namespace attnprobe::report
