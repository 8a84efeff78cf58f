// The findings of a trace, as plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "explain/text_answer.hpp"
#include "machine/process_libraries.hpp"
#include "replay/replay.hpp"
#include "trace/frontend_log.hpp"

namespace attnprobe::trace {

/// A process of the program that wrote a cuDNN log.
struct TracedProcess {
  int64_t pid = 0;
  std::string command;    ///< its command line; "" if the process ended before it could be read
  int64_t log_bytes = 0;  ///< path of cuDNN's log
  int64_t graphs = 0;     ///< number of distinct graphs that it built
  /// Its loaded libraries of cuDNN and CUDA, from its memory map while it ran; empty if `command` is empty.
  std::vector<machine::MappedLibrary> libraries;
  std::vector<machine::EnvironmentProblem> problems;  ///< problems of that combination of libraries
  bool still_runs = false;                            ///< it outlived the trace; later events are not included
};
ATTNPROBE_JSON(TracedProcess, pid, command, log_bytes, graphs, libraries, problems, still_runs)

struct TraceFindings {
  std::vector<TracedProcess> processes;    ///< processes in order of detection
  std::vector<std::string> gpus;           ///< GPUs of the machine, "NVIDIA H200", one entry per GPU
  replay::Replay replay;                   ///< every distinct graph of all processes, with summed counts
  std::vector<std::vector<int64_t>> pids;  ///< for each of replay.graphs: the processes that built it
  std::vector<FrontendRefusal> frontend_refusals;
  explain::TextAnswer frontend;        ///< refusals in cudnn-frontend's log
  explain::TextAnswer program_stderr;  ///< refusals in the program's standard error, if it was read
  int64_t bytes_read = 0;              ///< bytes of all logs
  int64_t bytes_passed_over = 0;       ///< bytes skipped because they were written faster than they could be read
  double reading_cpu_seconds = 0;      ///< processor time of the trace itself
  std::vector<std::string> notes;      ///< limits of this trace, one sentence each
};

}  // namespace attnprobe::trace
