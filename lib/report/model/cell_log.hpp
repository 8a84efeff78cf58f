// The cells of a matrix on disk as they come, one JSON line each: what a killed run leaves behind is whole.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "base/json_reader.hpp"
#include "campaign/matrix.hpp"

namespace attnprobe::report {

/// What a matrix is made of, and so where a cell belongs.
struct MatrixAxes {
  struct Target {
    std::string id, name, kind, architecture;
    int sm = 0;
    bool operator==(const Target&) const = default;
  };
  std::string title;                 ///< of the page
  std::string command;               ///< that makes it again, without what does not change it (--jobs, --shard, …)
  std::vector<std::string> configs;  ///< their names
  std::vector<Target> targets;
  std::vector<std::string> cudnns;  ///< versions, "9.19.0"
  bool operator==(const MatrixAxes&) const = default;
};
ATTNPROBE_JSON(MatrixAxes::Target, id, name, sm, kind, architecture)
ATTNPROBE_JSON(MatrixAxes, title, command, configs, targets, cudnns)

MatrixAxes axes_of(const campaign::Matrix& matrix, const std::string& title, const std::string& command);

/// A cell of a report: the entry of "results" without what differs from run to run, its times of building and walking
/// (measured times of plans stay).
Json cell_json(const campaign::Result& result);

/// The file cells.jsonl: a line with the axes, then {"cell": [config, target, cudnn], …the result…} a line.
class CellLog {
 public:
  /// A new file; with `resume`, what is there is gone on with, its last line dropped if it is not whole. Throws
  /// Error(usage) if the file cannot be written, or is another matrix's.
  CellLog(std::filesystem::path file, MatrixAxes axes, bool resume);
  /// One that is there, to be read. Throws Error(usage) naming file and line for what is not such a file.
  explicit CellLog(std::filesystem::path file);

  const MatrixAxes& axes() const { return axes_; }
  bool has(const campaign::CellPlace& place) const { return lines_.count(place) != 0; }
  size_t size() const { return lines_.size(); }

  /// On disk when it returns, as far as this process can see to that. May be called from several threads.
  void add(const campaign::CellPlace& place, const std::string& cell);

  /// All cells, or those that are `wanted`, by config, target and cuDNN, as their text.
  void for_each(const std::function<void(const campaign::CellPlace& place, const std::string& cell)>& take,
                const std::function<bool(const campaign::CellPlace& place)>& wanted = {}) const;

  /// The same, each cell read: its view names file and line. Throws Error(usage) for one that is not JSON.
  void read_each(const std::function<void(const campaign::CellPlace& place, const JsonView& cell)>& take,
                 const std::function<bool(const campaign::CellPlace& place)>& wanted = {}) const;

  /// The file again, in that order.
  void sort();

 private:
  struct Line {
    std::streamoff offset = 0;
    int64_t number = 0;  // from 1
  };

  void read();
  // Whose text a line's JSON is, for messages.
  JsonSource source_of(int64_t line) const;
  void for_each_line(const std::function<void(const campaign::CellPlace& place, std::string& line)>& take,
                     const std::function<bool(const campaign::CellPlace& place)>& wanted = {}) const;

  std::filesystem::path file_;
  MatrixAxes axes_;
  std::ofstream out_;
  std::mutex mutex_;
  int64_t last_line_ = 1;  // the axes
  std::map<campaign::CellPlace, Line> lines_;
};

}  // namespace attnprobe::report
