// The first line of cells.jsonl: the definition of a matrix, by which a resumed run checks that it is the same.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ask/plan.hpp"
#include "base/json_reader.hpp"

namespace attnprobe::report {

/// The axes of a matrix, which give the place of a cell.
struct MatrixAxes {
  struct Target {
    std::string id, name, kind, architecture;
    int sm = 0;
    bool operator==(const Target&) const = default;
  };
  std::string title;                 ///< of the page
  std::string command;               ///< that makes it again, without irrelevant options (--jobs, --shard, …)
  std::vector<std::string> configs;  ///< their names
  std::vector<Target> targets;
  std::vector<std::string> cudnns;  ///< versions, "9.19.0"
  bool operator==(const MatrixAxes&) const = default;
};
ATTNPROBE_JSON(MatrixAxes::Target, id, name, sm, kind, architecture)
ATTNPROBE_JSON(MatrixAxes, title, command, configs, targets, cudnns)

/// A digest of the content of each name on the axes.
struct MadeOf {
  std::vector<std::string> configs;
  std::vector<std::string> targets;      ///< for a device its name and compute capability, not its id
  std::vector<std::string> cudnns;       ///< of their files' names, sizes, first and last bytes
  std::vector<std::string> cudnn_times;  ///< of their modification times; "" in a merged file with different parts
  std::string options;                   ///< options of the walk and of running plans that are not defaults, as words
};
ATTNPROBE_JSON(MadeOf, configs, targets, cudnns, cudnn_times, options)

struct CellHeader {
  MatrixAxes axes;
  std::optional<MadeOf> made_of;  ///< none: from an older attnprobe, or merged from files that lack it or differ
};

/// `cudnns`: those of the group.
CellHeader header_of(const asking::QuestionGroup& group, const std::vector<cudnn::LibraryInfo>& cudnns,
                     const asking::PlanOptions& options, const std::string& title, const std::string& command);

/// The line, with its end.
std::string text_of(const CellHeader& header);
/// Throws Error at the place of an invalid line.
CellHeader read_header(const JsonView& line);

/// The difference between a matrix that was begun and the requested one, for the end of a sentence: `the config "bert"
/// has changed`. "" if they are the same, so that their cells can be combined; titles and the spelling of the command
/// do not matter.
std::string difference(const CellHeader& begun, const CellHeader& now);

/// Joins the headers of several files. `names` receives what differs among them: `the config "bert"`.
class HeaderJoin {
 public:
  /// The places of the part's configs, targets and cuDNNs in the whole.
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
