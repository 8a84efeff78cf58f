// Writes the cells of a matrix to disk as they arrive, one JSON line each, so that a killed run leaves complete lines.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "ask/plan.hpp"
#include "base/json_reader.hpp"
#include "report/model/cell_header.hpp"

namespace attnprobe::report {

/// A cell of a report: the entry of "results" without build and walk times, which differ between runs (measured times
/// of plans remain).
Json cell_json(const answer::Answer& result);

/// The file cells.jsonl: a line with the axes, then one line {"cell": [config, target, cudnn], …the result…} per cell.
class CellLog {
 public:
  /// What to do with existing cells in the file.
  enum class Present {
    refuse,   ///< throw Error(usage) and keep them
    resume,   ///< continue after them, without an incomplete last line; Error(usage) if they belong to another matrix
    replace,  ///< delete them
  };
  /// For writing. Throws Error(usage) if the file cannot be written.
  CellLog(std::filesystem::path file, CellHeader header, Present present);
  /// An existing file, for reading; skips an incomplete last line. Throws Error(usage), naming file and line, for any
  /// other kind of file.
  explicit CellLog(std::filesystem::path file);

  const std::filesystem::path& file() const { return file_; }
  const CellHeader& header() const { return header_; }
  const MatrixAxes& axes() const { return header_.axes; }
  bool has(const asking::CellPlace& place) const { return lines_.count(place) != 0; }
  size_t size() const { return lines_.size(); }

  /// Treats these cells as missing, so that they are asked again.
  void forget(const std::vector<asking::CellPlace>& places);

  /// Returns when the cell is on disk, as far as this process can ensure. Thread-safe.
  void add(const asking::CellPlace& place, const std::string& cell);

  /// The text of all cells, or of the `wanted` cells, by config, target and cuDNN.
  void for_each(const std::function<void(const asking::CellPlace& place, const std::string& cell)>& take,
                const std::function<bool(const asking::CellPlace& place)>& wanted = {}) const;

  /// The same with each cell parsed; its view names file and line. Throws Error(usage) for a cell that is not JSON.
  void read_each(const std::function<void(const asking::CellPlace& place, const JsonView& cell)>& take,
                 const std::function<bool(const asking::CellPlace& place)>& wanted = {}) const;

  /// The source of a cell's JSON for messages: file and line.
  JsonSource source_of(const asking::CellPlace& place) const { return source_of(lines_.at(place).number); }

  /// Rewrites the file in that order.
  void sort();

 private:
  struct Line {
    std::streamoff offset = 0;
    int64_t number = 0;  // line number, from 1
  };

  friend class CellReader;

  // Returns the length of the file's complete lines.
  std::streamoff read();
  std::streamoff read_other();
  void go_on(const CellHeader& now, std::streamoff whole);
  void check_replaceable(const CellHeader& now) const;

  JsonSource source_of(int64_t line) const;

  std::filesystem::path file_;
  CellHeader header_;
  std::ofstream out_;
  std::mutex mutex_;
  int64_t last_line_ = 1;  // the axes
  std::map<asking::CellPlace, Line> lines_;
};

/// Reads cells of a log one by one; fast if they are requested in file order. The log must outlive it.
class CellReader {
 public:
  explicit CellReader(const CellLog& log);
  /// The cell's text. Precondition: log.has(place).
  const std::string& cell(const asking::CellPlace& place);

 private:
  const CellLog& log_;
  std::ifstream in_;
  std::streamoff at_ = 0;
  std::string line_;
};

/// A cell as a line of the file.
std::string line_of(const asking::CellPlace& place, const std::string& cell);

}  // namespace attnprobe::report
