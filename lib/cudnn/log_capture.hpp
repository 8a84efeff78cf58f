// Captures cuDNN's log through cudnnSetCallback.
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
  std::string text;  ///< the message's parts, one per line
};

/// The JSON of the operation graph, which precedes each engine config in an info message.
enum class LoggedGraphs {
  whole,
  left_out  ///< dropped: 90 % of a walk's messages, and the walk knows its graph
};

/// A callback message is a list of NUL-terminated texts with an empty one at the end (cudnnSetCallback's documentation;
/// measured with 9.19). Returns the texts as lines. Reads at most 16 MiB, in case the end is missing.
std::string message_text(const char* message, LoggedGraphs graphs = LoggedGraphs::whole);

/// Drops cuDNN's messages. Without a callback, cuDNN prints errors to stderr.
void silence(const Library& library);

/// While it exists, it receives all of cuDNN's messages instead of the log file set in the environment. Only one may
/// exist per process, because cuDNN has one callback. Messages may come from any thread.
class LogCapture {
 public:
  enum class Level {
    warnings,  ///< errors and warnings, including the traceback of a failing finalize
    info       ///< also why heuristics reject candidates; calls take ten times as long
  };
  LogCapture(const Library& library, Level level, LoggedGraphs graphs = LoggedGraphs::whole);
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  std::vector<LogMessage> messages() const;
  /// All messages in order of arrival.
  std::string text() const;
  void clear();

  /// The existing capture, or nullptr.
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
