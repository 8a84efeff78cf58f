// A committed baseline: the answer of each cell of a matrix, one line per cell, and whether it got worse.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "report/model/cells.hpp"

namespace attnprobe::report {

/// A line of the file: config, GPU, cuDNN, answer, first engine, reason.
struct LockedCell {
  std::string config, target, cudnn;
  answer::Word answer = answer::Word::not_asked;  ///< outcome_word()
  std::optional<int64_t> engine;                  ///< the first that works, for yes and but
  std::string why;   ///< the root cause's category; for a but the obstacles, "framework+known_bug"
  int64_t line = 0;  ///< line in its file, from 1; 0: from this run
  bool operator==(const LockedCell& other) const {
    return config == other.config && target == other.target && cudnn == other.cudnn && answer == other.answer &&
           engine == other.engine && why == other.why;
  }
};

struct BaselineLock {
  std::string options;            ///< how cuDNN was asked, if unusual: "--framework torch==2.11"
  std::vector<LockedCell> cells;  ///< by config, GPU and cuDNN
};

/// From every cell except those that failed because of the environment; they count as not asked.
BaselineLock lock_of(const CellTable& table, const std::string& options);

/// The file's text: the same bytes for the same answers, regardless of their order of arrival.
std::string text_of(const BaselineLock& lock);

/// Whether the file begins like a baseline, even if damaged.
bool is_lock(const std::filesystem::path& file);

/// Throws Error(usage) naming the file; if it is damaged, also the line, the value and what is allowed.
BaselineLock read_lock(const std::filesystem::path& file);

/// How a cell changed. Only this code decides what is worse. In order: yes, but, no (and invalid_graph), no answer
/// (error, crashed, timeout), wrong_result.
enum class LockStep { worse, better, changed, fresh, unasked };

struct LockChange {
  LockStep step = LockStep::changed;
  std::optional<LockedCell> before;  ///< none: new cell
  std::optional<LockedCell> after;   ///< none: not asked
  const Cell* cell = nullptr;        ///< index of `after` in the compared table
};

struct LockComparison {
  size_t compared = 0;              ///< number of cells in both
  std::vector<LockChange> changes;  ///< by step, then in the table's order; without equal cells
  size_t count(LockStep step) const;
};

/// Pairs cells like a diff: by config name, GPU and cuDNN version; by name and GPU if each side has only one version.
/// If the table lacks a locked cell but has its config, GPU and cuDNN, the cell belongs to another shard and counts as
/// unchanged. `table` must outlive the result.
LockComparison compare(const BaselineLock& before, const CellTable& table);

/// "yes, engine 10", "no: shared_memory".
std::string answer_text(const LockedCell& cell);

}  // namespace attnprobe::report
