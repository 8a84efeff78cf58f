// A program that runs as if nobody stood between it and whoever started it: its own standard streams, the same process
// group and terminal, every signal.
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
  std::vector<std::string> words;                                ///< program, found as a shell finds it, and arguments
  std::vector<std::pair<std::string, std::string>> environment;  ///< beside this process' own
  std::vector<int> default_signals;  ///< that this process ignores and the program is not to
  bool reads_stderr = false;         ///< its standard error is a pipe to read_stderr()
};

/// Catches signals from here to its end, so that each is handed on once and none ends the trace before the program.
class CaughtSignals {
 public:
  CaughtSignals();
  ~CaughtSignals();
  CaughtSignals(const CaughtSignals&) = delete;
  CaughtSignals& operator=(const CaughtSignals&) = delete;

  /// Readable when a signal came; to wait on.
  int descriptor() const { return descriptor_.get(); }
  /// What was blocked before.
  const sigset_t& before() const { return before_; }

 private:
  FileDescriptor descriptor_;
  sigset_t before_{};
};

class TracedProgram {
 public:
  /// Starts it. Throws Error(environment) where the machine gives no process; a program that cannot be started is
  /// start_error(), the errno of execvp.
  TracedProgram(const ProgramStart& start, const CaughtSignals& signals);

  int start_error() const { return start_error_; }
  pid_t pid() const { return pid_; }

  /// Takes the signals that came: hands on those that were meant for this process alone, and stops when the program has
  /// stopped, until both go on. How the program ended, once it has.
  std::optional<worker::ProcessEnd> take_signals(const Guard& guard);

  /// With reads_stderr: to wait on; -1 without, and at its end.
  int stderr_descriptor() const { return stderr_.get(); }
  /// What has come of it; "" where nothing has, or at its end.
  std::string read_stderr();
  /// Nobody takes what the program writes there: it is told so as by any pipe without a reader.
  void close_stderr() { stderr_.reset(); }

 private:
  void stop_with_program(int signal) const;
  std::optional<worker::ProcessEnd> reap();

  const CaughtSignals* signals_;
  pid_t pid_ = -1;
  int start_error_ = 0;
  FileDescriptor stderr_;
};

/// Ends this process as the program ended: with its exit status, or by its signal, without a core file of its own.
[[noreturn]] void end_as(const worker::ProcessEnd& end);

}  // namespace attnprobe::trace
