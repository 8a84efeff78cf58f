// Runs a program as if it were started directly: with the same standard streams, process group, terminal and signals.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file_descriptor.hpp"
#include "trace/guard.hpp"
#include "worker/process.hpp"

namespace attnprobe::trace {

struct ProgramStart {
  std::vector<std::string> words;                                ///< program, found as by a shell, and arguments
  std::vector<std::pair<std::string, std::string>> environment;  ///< variables in addition to this process's own
  std::vector<int> default_signals;                              ///< signals ignored by this process, but not by the
                                                                 ///< program
  bool reads_stderr = false;                                     ///< the program's standard error is a pipe to
                                                                 ///< read_stderr()
};

/// Catches signals during its lifetime, so that each is forwarded once and none ends the trace before the program.
class CaughtSignals {
 public:
  CaughtSignals();
  ~CaughtSignals();
  CaughtSignals(const CaughtSignals&) = delete;
  CaughtSignals& operator=(const CaughtSignals&) = delete;

  /// Readable when a signal has arrived.
  int descriptor() const { return descriptor_.get(); }
  /// Previously blocked signals.
  const sigset_t& before() const { return before_; }

 private:
  FileDescriptor descriptor_;
  sigset_t before_{};
};

class TracedProgram {
 public:
  /// Starts the program. Throws Error(environment) if the system refuses a process. If the program cannot be started,
  /// start_error() is the errno of execvp.
  TracedProgram(const ProgramStart& start, const CaughtSignals& signals);

  int start_error() const { return start_error_; }
  pid_t pid() const { return pid_; }

  /// Handles received signals: forwards those sent only to this process, and stops while the program is stopped.
  /// Returns how the program ended, after its end.
  std::optional<worker::ProcessEnd> take_signals(const Guard& guard);

  /// With reads_stderr: the pipe to poll; otherwise, or at its end, -1.
  int stderr_descriptor() const { return stderr_.get(); }
  /// The available text; "" if there is none, or at the end.
  std::string read_stderr();
  /// Closes the read end: the program gets the usual error of a pipe without a reader.
  void close_stderr() { stderr_.reset(); }

 private:
  void stop_with_program(int signal) const;
  std::optional<worker::ProcessEnd> reap();

  const CaughtSignals* signals_;
  pid_t pid_ = -1;
  int start_error_ = 0;
  FileDescriptor stderr_;
};

/// Ends this process like the program: with the same exit status, or by the same signal without a core file.
[[noreturn]] void end_as(const worker::ProcessEnd& end);

}  // namespace attnprobe::trace
