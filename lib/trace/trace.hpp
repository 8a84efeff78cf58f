// `attnprobe trace`: runs a program with logging enabled, and reports findings from the logs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "studies/plans/bill.hpp"
#include "trace/observer.hpp"
#include "trace/traced_program.hpp"

namespace attnprobe::trace {

struct TraceOptions {
  std::vector<std::string> words;  ///< the program and its arguments
  std::string keep_logs;           ///< a folder for the logs; "": logs are deleted
  bool reads_stderr = false;       ///< the program's standard error passes through the trace
  std::vector<int> default_signals;
  OnGraph on_graph;                                      ///< may be empty
  std::function<void(std::string_view)> pass_on_stderr;  ///< with reads_stderr: receives the program's output
};

struct Trace {
  int start_error = 0;  ///< errno if the program could not be started; the other members are then empty
  worker::ProcessEnd end;
  double seconds = 0;  ///< from start to end of the program
  TraceFindings findings;
  std::optional<plans::WorkloadBill> bill;  ///< bill of the executed plans, compiled again for the simulated GPU
  std::string no_bill;                      ///< why there is no bill; "" if there are few plans
};

/// Runs the program to its end. Throws Error(usage, environment) before the program starts, never later.
Trace run_trace(const TraceOptions& options);

}  // namespace attnprobe::trace
