// A baseline that a team commits: what each cell of a matrix was answered, a line a cell, and whether it got worse.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "report/model/cells.hpp"

namespace attnprobe::report {

/// A line of the file: config, GPU, cuDNN, answer, first engine, why.
struct LockedCell {
  std::string config, target, cudnn;
  std::string answer;             ///< outcome_word(): "yes", "but", "no", "crashed", …
  std::optional<int64_t> engine;  ///< the first that works, of yes and but
  std::string why;                ///< the root cause's category; of a but what stands in the way, "framework+known_bug"
  int64_t line = 0;               ///< in its file, from 1; 0: of this run
  bool operator==(const LockedCell& other) const {
    return config == other.config && target == other.target && cudnn == other.cudnn && answer == other.answer &&
           engine == other.engine && why == other.why;
  }
};

struct BaselineLock {
  std::string options;            ///< how cuDNN was asked, where it is not as usual: "--framework torch==2.11"
  std::vector<LockedCell> cells;  ///< by config, GPU and cuDNN
};

/// Of every cell but those that the environment broke, which nobody asked.
BaselineLock lock_of(const CellTable& table, const std::string& options);

/// The file: the same bytes for the same answers, whatever the order they came in.
std::string text_of(const BaselineLock& lock);

/// Whether the file begins as one of ours does, damaged or not.
bool is_lock(const std::filesystem::path& file);

/// Throws Error(usage) naming the file, and for a damaged one the line, the value and what is allowed.
BaselineLock read_lock(const std::filesystem::path& file);

/// What became of a cell since. The one place that says what is worse: yes is better than but, but than no (and
/// invalid_graph), no than what is no answer (error, crashed, timeout), and that than wrong_result.
enum class LockStep { worse, better, changed, fresh, unasked };

struct LockChange {
  LockStep step = LockStep::changed;
  std::optional<LockedCell> before;  ///< none: fresh
  std::optional<LockedCell> after;   ///< none: unasked
  const Cell* cell = nullptr;        ///< of `after`, in the table that was compared
};

struct LockComparison {
  size_t compared = 0;              ///< cells in both
  std::vector<LockChange> changes;  ///< by step, then in the table's order; an equal cell is none
  size_t count(LockStep step) const;
};

/// Cells belong together as those of a diff do: by config name, GPU and cuDNN version; where each side has one version
/// only, by name and GPU. A locked cell whose config, GPU and cuDNN the table has, and which it lacks itself, is
/// another shard's: no change. `table` must outlive the result.
LockComparison compare(const BaselineLock& before, const CellTable& table);

/// "yes, engine 10", "no: shared_memory".
std::string answer_text(const LockedCell& cell);

}  // namespace attnprobe::report
