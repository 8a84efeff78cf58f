// The first line of cells.jsonl: what a matrix is made of, by which a run that goes on with it knows that it is the same.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json_reader.hpp"
#include "campaign/plan.hpp"

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

/// What stands behind the names on the axes: a digest for each.
struct MadeOf {
  std::vector<std::string> configs;
  std::vector<std::string> targets;  ///< of a device's its name and compute capability: another of the kind is as good
  std::vector<std::string> cudnns;   ///< of their files' names, sizes, first and last bytes
  std::vector<std::string> cudnn_times;  ///< of their times of modification; "" in a merged file whose parts differ
  std::string options;                   ///< those of the walk and of running plans that are not defaults, as words
};
ATTNPROBE_JSON(MadeOf, configs, targets, cudnns, cudnn_times, options)

struct CellHeader {
  MatrixAxes axes;
  std::optional<MadeOf> made_of;  ///< none: written by an older attnprobe, or merged of what does not say it or differs
};

/// `cudnns`: those of the group.
CellHeader header_of(const campaign::QuestionGroup& group, const std::vector<cudnn::LibraryInfo>& cudnns,
                     const campaign::PlanOptions& options, const std::string& title, const std::string& command);

/// The line, with its end.
std::string text_of(const CellHeader& header);
/// Throws Error at the place of what is not such a line.
CellHeader read_header(const JsonView& line);

/// What of a matrix that was begun differs from one that is asked for now, as a sentence's end: `the config "bert" has
/// changed`. "" where both are the same, so that cells of one may stand beside those of the other; titles and the
/// spelling of the command do not matter.
std::string difference(const CellHeader& begun, const CellHeader& now);

/// The header of several files' cells together. `names` gets whose digests differ among them: `the config "bert"`.
class HeaderJoin {
 public:
  /// Where the part's configs, targets and cuDNNs stand in the whole.
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
