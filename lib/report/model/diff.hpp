// What changed between two reports, cell by cell.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "base/json.hpp"
#include "report/formats/report.hpp"
#include "report/model/cells.hpp"

namespace attnprobe::report {

enum class ChangeKind {
  now_no,  ///< yes or but before
  yes_to_but,
  no_to_but,
  now_yes,    ///< no or but before
  wrong,      ///< right before, or not run
  right,      ///< wrong before
  lost,       ///< crashes, hangs or fails now
  recovered,  ///< crashed, hung or failed before
  slower,     ///< time of the fastest correct engine config, by more than the tolerance
  faster,
  graph_changed,   ///< works in both, but as a different form of graph
  engine_changed,  ///< another first choice
  kernel_changed,  ///< same first choice with different machine code, if both plans were built
  fewer_engines,   ///< another number of working engine configs, same first choice
  more_engines,
  reason_changed,  ///< a no with a different reason, or a but with different obstacles
  removed,         ///< only in the old report
  added,           ///< only in the new one
};
ATTNPROBE_ENUM(ChangeKind, now_no, yes_to_but, no_to_but, now_yes, wrong, right, lost, recovered, slower, faster,
               graph_changed, engine_changed, kernel_changed, fewer_engines, more_engines, reason_changed, removed,
               added)

struct Change {
  ChangeKind kind = ChangeKind::added;
  std::string config, target, cudnn;  ///< cudnn: "9.14.0 -> 9.19.0" if the versions differ
  std::string before, after;          ///< answer with its reason, engine config or time
};

struct DiffOptions {
  std::string old_cudnn, new_cudnn;  ///< compares only this version of each report; "": all versions
  double tolerance = 0.05;           ///< smaller differences of time are ignored
};

/// Cells for which both reports have the first choice's kernel.
struct KernelCounts {
  int64_t compared = 0;
  int64_t changed = 0;                     ///< other machine code
  int64_t engine = 0;                      ///< another engine or other knobs, including the tile
  int64_t registers = 0;                   ///< another number per thread
  int64_t less_stack = 0, more_stack = 0;  ///< stack per thread, for values that do not fit in registers
  int64_t shared_memory = 0;               ///< another size per block
};
ATTNPROBE_JSON(KernelCounts, compared, changed, engine, registers, less_stack, more_stack, shared_memory)

struct Diff {
  size_t compared = 0;              ///< number of cells in both
  bool of_many_versions = false;    ///< for several cuDNN versions, each compared with itself
  std::vector<std::string> cudnns;  ///< versions of the cells in both: "9.14.0", or "9.14.0 -> 9.19.0"
  KernelCounts kernels;
  std::vector<Change> changes;  ///< by kind, then in the new report's order
};

/// The engine config that a program would use; nullptr if none works.
const CellEngine* first_choice(const CellAnswer& answer);

/// Cells match by config name, target and cuDNN version; if each side has only one version, by name and target.
Diff diff_cells(const CellTable& before, const CellTable& after, const DiffOptions& options);

/// Whether the change is a regression for --fail-on regression.
bool is_regression(ChangeKind kind);

std::string diff_text(const Diff& diff, const TextStyle& style);
std::string diff_markdown(const Diff& diff);
/// Schema "attnprobe/diff/1": {"compared", "cudnns", "counts", "kernels", "changes":
/// [{"kind", "config", "target", "cudnn", "before", "after"}]}.
Json diff_json(const Diff& diff);

}  // namespace attnprobe::report
