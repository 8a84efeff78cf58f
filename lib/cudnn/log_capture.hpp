// Catching what cuDNN logs, through cudnnSetCallback.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cudnn/library.hpp"

namespace attnprobe::cudnn {

struct LogMessage {
  int severity = 0;  ///< cudnnSeverity_t: 1 error, 2 warning, 3 info
  int status = 0;    ///< cudnnStatus_t of the message
  uint64_t thread = 0;
  std::string text;  ///< the message's parts, one a line
};

/// The JSON of the operation graph, which stands before each engine config that an info message shows.
enum class LoggedGraphs {
  whole,
  left_out  ///< nine tenths of what a walk is told, and it knows its graph
};

/// A callback message is several NUL-terminated texts, ended by an empty one (cudnnSetCallback's documentation;
/// measured with 9.19). Gives them as lines. At most 16 MiB are read, in case the end is missing.
std::string message_text(const char* message, LoggedGraphs graphs = LoggedGraphs::whole);

/// Takes cuDNN's messages and drops them. Without any callback cuDNN prints errors to stderr.
void silence(const Library& library);

/// While it lives, cuDNN's messages go here and nowhere else (the environment's log file included). One at a time in a
/// process: cuDNN has one callback. Messages may come from any thread.
class LogCapture {
 public:
  enum class Level {
    warnings,  ///< errors and warnings: the traceback of a failing finalize
    info       ///< also why heuristics' candidates are rejected, at ten times the cost per call
  };
  LogCapture(const Library& library, Level level, LoggedGraphs graphs = LoggedGraphs::whole);
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  std::vector<LogMessage> messages() const;
  /// All messages in order of arrival.
  std::string text() const;
  void clear();

  /// The capture that is alive, or nullptr.
  static const LogCapture* active() { return active_.load(); }

 private:
  static void receive(cudnnSeverity_t severity, void* number, const cudnnDebug_t* debug, const char* message);

  const Library& library_;
  const LoggedGraphs graphs_;
  uintptr_t number_ = 0;
  std::vector<LogMessage> messages_;
  static std::atomic<LogCapture*> active_;
};

}  // namespace attnprobe::cudnn
