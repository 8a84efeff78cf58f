// Reads the logs of a program and all its children while they write them.
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

/// Gets a graph of a process once its log shows that it works or was refused, and again where a refused one works later.
using OnGraph = std::function<void(int64_t pid, const replay::LoggedGraph& graph)>;

class Observer {
 public:
  /// The folder outlives the observer. `on_graph` may be empty.
  Observer(const LogFolder& folder, OnGraph on_graph);
  ~Observer();
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  /// Readable when a log begins; to wait on, -1 where the kernel gives none.
  int descriptor() const { return watch_.get(); }
  /// Finds logs that began and reads what is there, some megabytes at most. Whether there is more.
  bool look();
  /// What came on the program's standard error.
  void take_stderr(std::string_view text) { stderr_finder_.feed(text); }

  /// Reads everything that is left, whoever still writes, and gives what was found.
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
  std::map<std::string, std::unique_ptr<ProcessLog>> logs_;  // by file name: processes that are not done
  std::vector<TracedProcess> processes_;                     // that are
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
