// What a trace found, as plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "campaign/process_libraries.hpp"
#include "explain/text_answer.hpp"
#include "replay/replay.hpp"
#include "trace/frontend_log.hpp"

namespace attnprobe::trace {

/// A process of the program that wrote a log of cuDNN.
struct TracedProcess {
  int64_t pid = 0;
  std::string command;    ///< its command line; "" where the process ended before it could be looked at
  int64_t log_bytes = 0;  ///< of cuDNN's log
  int64_t graphs = 0;     ///< distinct ones that it built
  /// What it had loaded of cuDNN and CUDA, from its memory map, looked at while it ran; empty as `command` is.
  std::vector<campaign::MappedLibrary> libraries;
  std::vector<campaign::EnvironmentProblem> problems;  ///< of those together
  bool still_runs = false;                             ///< when the trace ended; what it does later is not in it
};
ATTNPROBE_JSON(TracedProcess, pid, command, log_bytes, graphs, libraries, problems, still_runs)

struct TraceFindings {
  std::vector<TracedProcess> processes;    ///< in the order in which they were seen
  std::vector<std::string> gpus;           ///< of the machine, "NVIDIA H200", each as often as it is there
  replay::Replay replay;                   ///< every distinct graph of all of them, counts added up
  std::vector<std::vector<int64_t>> pids;  ///< of replay.graphs: the processes that built each
  std::vector<FrontendRefusal> frontend_refusals;
  explain::TextAnswer frontend;        ///< what cudnn-frontend's log says of refusals
  explain::TextAnswer program_stderr;  ///< and the program's standard error, where that was read
  int64_t bytes_read = 0;              ///< of all logs
  int64_t bytes_passed_over = 0;       ///< written faster than they could be read
  double reading_cpu_seconds = 0;      ///< processor time that the trace itself took
  std::vector<std::string> notes;      ///< what stood in the trace's way, a sentence each
};

}  // namespace attnprobe::trace
