// Asking cells with as many workers as there are cores. Beneath ask() alone.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "campaign/plan.hpp"

namespace attnprobe::campaign {

/// Called after each cell, from several threads at the same time, with its index among the places.
using OnCell = std::function<void(size_t index, Answer&& answer)>;

/// Asks these cells of the group, whose cuDNNs are given, with as many workers as options.jobs says; plans of one GPU of
/// this machine are run by one worker at a time. Gives, for each cuDNN, what a worker told of the library; none where none
/// was opened. Never throws for what happens in a worker; throws what `on_cell` throws, with the other cells left unasked.
std::vector<std::optional<cudnn::LibraryInfo>> ask_cells(const QuestionGroup& group,
                                                         const std::vector<CellPlace>& places,
                                                         const PlanOptions& options, const Session& session,
                                                         const OnCell& on_cell);

}  // namespace attnprobe::campaign
