// The cells of a matrix on disk as they come, one JSON line each: what a killed run leaves behind is whole.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/json_reader.hpp"
#include "campaign/plan.hpp"
#include "report/model/cell_header.hpp"

namespace attnprobe::report {

/// A cell of a report: the entry of "results" without what differs from run to run, its times of building and walking
/// (measured times of plans stay).
Json cell_json(const answer::Answer& result);

/// The file cells.jsonl: a line with the axes, then {"cell": [config, target, cudnn], …the result…} a line.
class CellLog {
 public:
  /// What becomes of cells that are in the file already.
  enum class Present {
    refuse,   ///< Error(usage): they stay
    resume,   ///< they are gone on with, the last line dropped if it is not whole; Error(usage) for another matrix's
    replace,  ///< they are gone, whatever they were
  };
  /// To write. Throws Error(usage) if the file cannot be written.
  CellLog(std::filesystem::path file, CellHeader header, Present present);
  /// One that is there, to be read; a last line that is not whole is passed over. Throws Error(usage) naming file and
  /// line for what is not such a file.
  explicit CellLog(std::filesystem::path file);

  const std::filesystem::path& file() const { return file_; }
  const CellHeader& header() const { return header_; }
  const MatrixAxes& axes() const { return header_.axes; }
  bool has(const campaign::CellPlace& place) const { return lines_.count(place) != 0; }
  size_t size() const { return lines_.size(); }

  /// As if these were not there: to be asked again.
  void forget(const std::vector<campaign::CellPlace>& places);

  /// On disk when it returns, as far as this process can see to that. May be called from several threads.
  void add(const campaign::CellPlace& place, const std::string& cell);

  /// All cells, or those that are `wanted`, by config, target and cuDNN, as their text.
  void for_each(const std::function<void(const campaign::CellPlace& place, const std::string& cell)>& take,
                const std::function<bool(const campaign::CellPlace& place)>& wanted = {}) const;

  /// The same, each cell read: its view names file and line. Throws Error(usage) for one that is not JSON.
  void read_each(const std::function<void(const campaign::CellPlace& place, const JsonView& cell)>& take,
                 const std::function<bool(const campaign::CellPlace& place)>& wanted = {}) const;

  /// Whose text a cell's JSON is, for messages: file and line.
  JsonSource source_of(const campaign::CellPlace& place) const { return source_of(lines_.at(place).number); }

  /// The file again, in that order.
  void sort();

 private:
  struct Line {
    std::streamoff offset = 0;
    int64_t number = 0;  // from 1
  };

  friend class CellReader;

  // Returns how much of the file is whole lines.
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
  std::map<campaign::CellPlace, Line> lines_;
};

/// Cells of a log one by one: quick where they are asked for as they stand in the file. The log must outlive it.
class CellReader {
 public:
  explicit CellReader(const CellLog& log);
  /// The cell's text. Precondition: log.has(place).
  const std::string& cell(const campaign::CellPlace& place);

 private:
  const CellLog& log_;
  std::ifstream in_;
  std::streamoff at_ = 0;
  std::string line_;
};

/// A cell as a line of the file.
std::string line_of(const campaign::CellPlace& place, const std::string& cell);

}  // namespace attnprobe::report
