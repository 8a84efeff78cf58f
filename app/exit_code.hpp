// attnprobe's exit codes.
#pragma once

#include <functional>

#include "base/error.hpp"
#include "report/formats/report.hpp"
#include "report/model/cells.hpp"

namespace attnprobe::app {

enum ExitCode {
  all_met = 0,            ///< every result met its expectation
  not_met = 1,            ///< a result did not meet its expectation
  bad_usage = 2,          ///< bad command line or config
  environment_lacks = 3,  ///< environment problem, or output cannot be written
  probe_lost = 4,         ///< a probe crashed or timed out
  wrong_result = 5,       ///< a supported plan computed a wrong result
  interrupted = 130,      ///< Ctrl-C or SIGTERM: finished results are reported
};

int exit_code(ErrorKind kind);

/// The exit code of the most severe result.
int exit_code(const report::Results& results);
/// The same for a matrix.
int exit_code(const report::CellTable& table);
/// For a matrix in which only these cells failed, including cells that could not be asked.
int exit_code(const report::CellTable& table, const std::function<bool(const report::Cell& cell)>& fails);

}  // namespace attnprobe::app
