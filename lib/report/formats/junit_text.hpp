// JUnit XML of a matrix, for any criterion of failure.
#pragma once

#include <functional>
#include <string>

#include "report/model/cells.hpp"

namespace attnprobe::report {

/// One suite per cuDNN and GPU, one case per cell. `failure_of` returns a cell's message; "": it passes.
std::string junit_text(const CellTable& table, const std::function<std::string(const Cell& cell)>& failure_of);

}  // namespace attnprobe::report
