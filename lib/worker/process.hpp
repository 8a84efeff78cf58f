// A child process with one socket, captured stderr, and notes that outlive the child.
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

/// Sends all of `text` on a socket. Returns false if the other end is closed; sends no signal.
bool send_all(int socket, const std::string& text);

/// How a child ended.
struct ProcessEnd {
  bool signalled = false;
  int code = 0;  ///< exit status, or signal number

  /// "signal 11 (SIGSEGV, Segmentation fault)", "exit status 3".
  std::string text() const;
  /// Whether it ended by a signal that processes do not send to themselves (SIGKILL, SIGTERM, SIGHUP, SIGINT). The
  /// kernel (out of memory), a batch system or a user may send one.
  bool is_from_outside() const;
};

class Process {
 public:
  /// Descriptors in the child: the socket, and the memory file for its notes.
  static constexpr int child_socket = 3, child_notes = 4;

  /// Starts `arguments[0]`. `environment` changes the parent's variables: a value sets, std::nullopt unsets. `is_tree`:
  /// the program starts other processes, which kill() also ends and terminal signals do not reach. Throws
  /// Error(environment).
  Process(const std::vector<std::string>& arguments,
          const std::vector<std::pair<std::string, std::optional<std::string>>>& environment, bool is_tree = false);
  /// Kills the child if it is still running.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Sends a message's text. Returns false if the child has ended.
  bool send(const std::string& text) { return send_all(socket_.get(), text); }

  enum class Read { message, ended, timeout, stopped };
  /// How long a child may take to answer once `stop` is set.
  static constexpr std::chrono::milliseconds grace{500};
  /// Waits for the next message until `deadline`. Read::ended: the child closed the socket. Read::stopped: `stop`,
  /// which may be nullptr, was set and the child did not answer in time.
  Read receive(Message& message, std::chrono::steady_clock::time_point deadline,
               const std::atomic<bool>* stop = nullptr);

  /// Closes the sending side, so that a worker ends cleanly.
  void end_messages();
  /// Whether the child's end of the socket is still open.
  bool is_there() const;
  void kill();
  /// Waits for the child's end; call it after Read::ended or kill().
  ProcessEnd wait();
  /// The message in the child's Notes, if it is complete.
  std::optional<Message> notes() const;
  /// The end of the child's stderr and stdout.
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

/// Used in the child: one message that the parent reads only if the child dies. Unlike a message on the socket, it does
/// not wake the parent.
class Notes {
 public:
  explicit Notes(int descriptor) : descriptor_(descriptor) {}
  /// Replaces the old notes. Throws Error(internal).
  void write(const std::string& text) const;

 private:
  int descriptor_;
};

}  // namespace attnprobe::worker
