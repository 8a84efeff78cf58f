// JUnit XML of a matrix, whatever it is that fails a cell.
#pragma once

#include <functional>
#include <string>

#include "report/model/cells.hpp"

namespace attnprobe::report {

/// A suite for each cuDNN and GPU, a case a cell. `failure_of` a cell is its message; "": it passes.
std::string junit_text(const CellTable& table, const std::function<std::string(const Cell& cell)>& failure_of);

}  // namespace attnprobe::report
