// Post-processes finished rows: reasons for the ends of runs, and groups of equal rows. Not installed.
#pragma once

#include "studies/limits/find_limits.hpp"

namespace attnprobe::limits {

/// Sets Row::edges from the asked numbers: why supported runs begin, end and omit numbers.
void add_edges(Row& row, const std::vector<Point>& of_label, const attention::Range& range);

/// Merges rows with the same runs (or points) that differ in one thing at a time. GPUs come first, then cuDNN versions,
/// then the varied fields, then configs.
std::vector<Line> lines_of(const std::vector<Row>& rows);

}  // namespace attnprobe::limits
