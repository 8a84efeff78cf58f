// Reads the logs of a program and all its children while they are written.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "explain/message_finder.hpp"
#include "replay/log_history.hpp"
#include "replay/merged_history.hpp"
#include "trace/frontend_log.hpp"
#include "trace/growing_log.hpp"
#include "trace/log_folder.hpp"
#include "trace/trace_findings.hpp"

namespace attnprobe::trace {

/// Called for a graph of a process when its log shows that it works or was refused, and again if a refused graph works
/// later.
using OnGraph = std::function<void(int64_t pid, const replay::LoggedGraph& graph)>;

class Observer {
 public:
  /// The folder must outlive the observer. `on_graph` may be empty.
  Observer(const LogFolder& folder, OnGraph on_graph);
  ~Observer();
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  /// A descriptor that is readable when a new log begins; -1 if the kernel provides none.
  int descriptor() const { return watch_.get(); }
  /// Finds new logs and reads the available data, at most some megabytes. Returns whether there is more.
  bool look();
  /// Processes text from the program's standard error.
  void take_stderr(std::string_view text) { stderr_finder_.feed(text); }

  /// Reads all remaining data, even from running writers, and returns the findings.
  TraceFindings finish();

 private:
  struct ProcessLog;

  void find_logs();
  void take_frontend_file();
  bool read_piece(ProcessLog& log);
  void read_frontend_logs();
  void look_at_process(ProcessLog& log);
  void tell_news(ProcessLog& log);
  void end_log(ProcessLog& log);

  const LogFolder& folder_;
  OnGraph on_graph_;
  FileDescriptor watch_;
  std::map<std::string, std::unique_ptr<ProcessLog>> logs_;  // by file name: processes that still write
  std::vector<TracedProcess> processes_;                     // finished processes
  replay::MergedHistory merged_;
  struct FrontendLog {
    GrowingLog log;
    std::string partial;
  };
  std::vector<FrontendLog> frontend_logs_;
  FrontendLogReader frontend_reader_;
  explain::MessageFinder stderr_finder_;
  int64_t bytes_read_ = 0, passed_over_ = 0;
  std::set<std::string> problems_;
};

}  // namespace attnprobe::trace
