// Post-processes finished rows: why their runs end, and which rows are equal. Not installed.
#pragma once

#include "studies/limits/find_limits.hpp"

namespace attnprobe::limits {

/// Why the supported runs begin, end and leave numbers out: Row::edges, from what was asked.
void add_edges(Row& row, const std::vector<Point>& of_label, const attention::Range& range);

/// Merges rows with the same runs (or points) that differ in one thing at a time. GPUs come first, then cuDNN versions,
/// then the varied fields, then configs.
std::vector<Line> lines_of(const std::vector<Row>& rows);

}  // namespace attnprobe::limits
