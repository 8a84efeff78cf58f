// What becomes of rows when all is asked: why their runs end, and which rows are alike. Not installed.
#pragma once

#include "limits/find_limits.hpp"

namespace attnprobe::limits {

/// Why the runs that are taken begin, end and leave numbers out: Row::edges, from what was asked.
void add_edges(Row& row, const std::vector<Point>& of_label, const attention::Range& range);

/// Rows with the same runs (or points) put together where they differ in one thing at a time: GPUs first, then cuDNN versions, then
/// the varied fields, then configs.
std::vector<Line> lines_of(const std::vector<Row>& rows);

}  // namespace attnprobe::limits
