// Asks cells with as many workers as there are cores. Only ask() uses it.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ask/plan.hpp"

namespace attnprobe::asking {

/// Called after each cell, from several threads at the same time, with its index among the places.
using OnCell = std::function<void(size_t index, Answer&& answer)>;

/// Asks these cells of the group, with its chosen cuDNNs, using options.jobs workers. Only one worker at a time runs
/// plans on a GPU of this machine. Returns what a worker reported about each cuDNN library; none if it was not opened.
/// A worker's failure never throws. An exception from `on_cell` is rethrown, and the remaining cells are not asked.
std::vector<std::optional<cudnn::LibraryInfo>> ask_cells(const QuestionGroup& group,
                                                         const std::vector<CellPlace>& places,
                                                         const PlanOptions& options, const Session& session,
                                                         const OnCell& on_cell);

}  // namespace attnprobe::asking
