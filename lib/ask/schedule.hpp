// Asks cells with as many workers as there are cores. Only ask() uses it.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ask/plan.hpp"

namespace attnprobe::asking {

/// Called after each cell, from several threads at the same time, with its index among the places.
using OnCell = std::function<void(size_t index, Answer&& answer)>;

/// Asks these cells of the group, with its cuDNNs already chosen, with options.jobs workers. One worker at a time runs
/// plans on a GPU of this machine. Returns what a worker reported of each cuDNN library; none if it was not opened.
/// Never throws for events in a worker; throws what `on_cell` throws and leaves the other cells unasked.
std::vector<std::optional<cudnn::LibraryInfo>> ask_cells(const QuestionGroup& group,
                                                         const std::vector<CellPlace>& places,
                                                         const PlanOptions& options, const Session& session,
                                                         const OnCell& on_cell);

}  // namespace attnprobe::asking
