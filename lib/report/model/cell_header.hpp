// The first line of cells.jsonl: the definition of a matrix, compared when a run is resumed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ask/plan.hpp"
#include "base/json_reader.hpp"

namespace attnprobe::report {

/// The axes of a matrix, which define the place of a cell.
struct MatrixAxes {
  struct Target {
    std::string id, name, kind, architecture;
    int sm = 0;
    bool operator==(const Target&) const = default;
  };
  std::string title;                 ///< title of the page
  std::string command;               ///< the command that repeats the matrix, without irrelevant options (--jobs,
                                     ///< --shard, …)
  std::vector<std::string> configs;  ///< config names
  std::vector<Target> targets;
  std::vector<std::string> cudnns;  ///< versions, "9.19.0"
  bool operator==(const MatrixAxes&) const = default;
};
ATTNPROBE_JSON(MatrixAxes::Target, id, name, sm, kind, architecture)
ATTNPROBE_JSON(MatrixAxes, title, command, configs, targets, cudnns)

/// A digest of the content of each name on the axes.
struct MadeOf {
  std::vector<std::string> configs;
  std::vector<std::string> targets;      ///< for a device, digest of its name and compute capability, not its id
  std::vector<std::string> cudnns;       ///< digests of their files' names, sizes, first and last bytes
  std::vector<std::string> cudnn_times;  ///< digests of their modification times; "" in a merged file with different
                                         ///< parts
  std::string options;                   ///< non-default options of the walk and of running plans, as words
};
ATTNPROBE_JSON(MadeOf, configs, targets, cudnns, cudnn_times, options)

struct CellHeader {
  MatrixAxes axes;
  std::optional<MadeOf> made_of;  ///< none: from an older attnprobe, or merged from files that differ or lack it
};

/// `cudnns`: those of the group.
CellHeader header_of(const asking::QuestionGroup& group, const std::vector<cudnn::LibraryInfo>& cudnns,
                     const asking::PlanOptions& options, const std::string& title, const std::string& command);

/// The line, with its end.
std::string text_of(const CellHeader& header);
/// Throws Error at the place of an invalid line.
CellHeader read_header(const JsonView& line);

/// The difference between an existing matrix and the requested one, as the end of a sentence: `the config "bert" has
/// changed`. "" if they are the same, so that their cells can be combined; ignores titles and the spelling of the
/// command.
std::string difference(const CellHeader& begun, const CellHeader& now);

/// Joins the headers of several files. `names` receives the differences: `the config "bert"`.
class HeaderJoin {
 public:
  /// The indices of the part's configs, targets and cuDNNs in the whole.
  struct Places {
    std::vector<size_t> configs, targets, cudnns;
  };
  Places add(const CellHeader& part);
  CellHeader header() const;
  const std::vector<std::string>& differing() const { return differing_; }

 private:
  MatrixAxes axes_;
  MadeOf made_of_;
  bool is_first_ = true, is_known_ = true;
  std::vector<std::string> differing_;
};

}  // namespace attnprobe::report
