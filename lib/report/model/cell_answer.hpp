// Reads an answer from a result of a report. Not installed.
#pragma once

#include "report/model/cells.hpp"

namespace attnprobe::report {

/// `result`: an entry of a report's "results". Throws Error at a member whose type differs from what attnprobe writes.
CellAnswer answer_of(const JsonView& result);

}  // namespace attnprobe::report
