// A child process with one socket to talk through, its stderr caught, and notes that outlive it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file_descriptor.hpp"
#include "worker/message.hpp"

namespace attnprobe::worker {

/// Sends all of `text` on a socket. False if the other end is gone; no signal comes of it.
bool send_all(int socket, const std::string& text);

/// How a child ended.
struct ProcessEnd {
  bool signalled = false;
  int code = 0;  ///< exit status, or the signal's number

  /// "signal 11 (SIGSEGV, Segmentation fault)", "exit status 3".
  std::string text() const;
  /// By a signal that nothing in a process sends to itself (SIGKILL, SIGTERM, SIGHUP, SIGINT): the kernel for want of
  /// memory, a batch system, a person.
  bool is_from_outside() const;
};

class Process {
 public:
  /// Descriptors in the child: of the socket, and of the file in memory for its notes.
  static constexpr int child_socket = 3, child_notes = 4;

  /// Starts `arguments[0]`; `environment` changes the parent's:
  /// a value sets, std::nullopt unsets. `is_tree`: the program starts others, which kill() ends with it; a terminal's
  /// signals do not reach them. Throws Error(environment).
  Process(const std::vector<std::string>& arguments,
          const std::vector<std::pair<std::string, std::optional<std::string>>>& environment, bool is_tree = false);
  /// Kills the child if it is still there.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Sends the text of a message. False if the child is gone.
  bool send(const std::string& text) { return send_all(socket_.get(), text); }

  enum class Read { message, ended, timeout, stopped };
  /// How long a child may take to answer once `stop` is set.
  static constexpr std::chrono::milliseconds grace{500};
  /// Waits for the next message until `deadline`. Read::ended: the child closed the socket. Read::stopped: `stop`, which
  /// may be nullptr, was set and the child did not answer soon after.
  Read receive(Message& message, std::chrono::steady_clock::time_point deadline,
               const std::atomic<bool>* stop = nullptr);

  /// No further message will be sent: a worker ends in order.
  void end_messages();
  /// Whether the child still holds its end of the socket.
  bool is_there() const;
  void kill();
  /// Waits for the end; call it after Read::ended or kill().
  ProcessEnd wait();
  /// The message that the child's Notes hold, if there is a whole one.
  std::optional<Message> notes() const;
  /// The last part of what the child wrote to stderr and stdout.
  const std::string& output_tail() const { return output_; }

 private:
  void drain_output();

  pid_t pid_ = -1;
  bool is_tree_ = false;
  FileDescriptor socket_, output_pipe_, notes_file_;
  MessageBuffer messages_;
  std::string output_;
  std::optional<ProcessEnd> end_;
};

/// In the child: one message that the parent reads after the child's death,
/// if need be. Nobody is woken for it, as for one through the socket.
class Notes {
 public:
  explicit Notes(int descriptor) : descriptor_(descriptor) {}
  /// Replaces what is there. Throws Error(internal).
  void write(const std::string& text) const;

 private:
  int descriptor_;
};

}  // namespace attnprobe::worker
