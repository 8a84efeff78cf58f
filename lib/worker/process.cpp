#include "worker/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/error.hpp"

extern char** environ;

namespace attnprobe::worker {
namespace {

constexpr size_t kept_output = 8192;

std::vector<std::string> changed_environment(
    const std::vector<std::pair<std::string, std::optional<std::string>>>& changes) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string variable = *entry;
    const std::string name = variable.substr(0, variable.find('='));
    if (std::none_of(changes.begin(), changes.end(), [&](const auto& change) { return change.first == name; }))
      variables.push_back(variable);
  }
  for (const auto& [name, value] : changes)
    if (value) variables.push_back(name + "=" + *value);
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (auto& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

// Away from the numbers that descriptors are to have in the child: dup2 onto itself would keep CLOEXEC.
int moved(int descriptor) {
  const int other = fcntl(descriptor, F_DUPFD_CLOEXEC, Process::child_notes + 1);
  close(descriptor);
  return other;
}

[[noreturn]] void fail(const std::string& what, int error) {
  throw Error(ErrorKind::internal, fmt::format("cannot start a worker process: {}: {}", what, std::strerror(error)));
}

}  // namespace

std::string ProcessEnd::text() const {
  if (!signalled) return fmt::format("exit status {}", code);
  const char* name = sigabbrev_np(code);
  return fmt::format("signal {} (SIG{}, {})", code, name == nullptr ? "?" : name, strsignal(code));
}

Process::Process(const std::vector<std::string>& arguments,
                 const std::vector<std::pair<std::string, std::optional<std::string>>>& environment) {
  std::array<int, 2> sockets{}, output{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) fail("socketpair", errno);
  socket_ = sockets[0];
  const int child_end = moved(sockets[1]);
  if (pipe2(output.data(), O_CLOEXEC) != 0) {
    close(child_end);
    fail("pipe", errno);
  }
  output_fd_ = output[0];
  fcntl(output_fd_, F_SETFL, O_NONBLOCK);
  const int notes = memfd_create("attnprobe notes", MFD_CLOEXEC);
  if (notes < 0) {
    const int error = errno;
    for (const int descriptor : {socket_, child_end, output[0], output[1]}) close(descriptor);
    fail("memfd_create", error);
  }
  notes_fd_ = moved(notes);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // stdout belongs to reports; what libraries print goes the way of stderr.
  posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output[1], STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, child_end, child_socket);
  posix_spawn_file_actions_adddup2(&actions, notes_fd_, child_notes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);

  std::vector<std::string> words = arguments;
  std::vector<std::string> variables = changed_environment(environment);
  const int error =
      posix_spawn(&pid_, words[0].c_str(), &actions, nullptr, pointers(words).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  close(output[1]);
  close(child_end);
  if (error != 0) {
    pid_ = -1;
    close(socket_);
    close(output_fd_);
    close(notes_fd_);
    fail(arguments[0], error);
  }
}

Process::~Process() {
  if (pid_ > 0 && !end_) {
    kill();
    wait();
  }
  close(socket_);
  close(output_fd_);
  close(notes_fd_);
}

bool send_all(int socket, const std::string& text) {
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t count = ::send(socket, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    sent += static_cast<size_t>(count);
  }
  return true;
}

void Process::drain_output() {
  std::array<char, 4096> chunk{};
  for (ssize_t count; (count = read(output_fd_, chunk.data(), chunk.size())) > 0;) {
    output_.append(chunk.data(), static_cast<size_t>(count));
    if (output_.size() > 2 * kept_output) output_.erase(0, output_.size() - kept_output);
  }
}

Process::Read Process::receive(Message& message, std::chrono::steady_clock::time_point deadline) {
  using std::chrono::milliseconds;
  bool ended = false;
  while (true) {
    if (auto whole = messages_.take()) {
      message = std::move(*whole);
      return Read::message;
    }
    if (ended) return Read::ended;
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) return Read::timeout;
    std::array<pollfd, 2> fds{{{socket_, POLLIN, 0}, {output_fd_, POLLIN, 0}}};
    poll(fds.data(), fds.size(), static_cast<int>(std::min<int64_t>(left, 1000)));
    if ((fds[1].revents & POLLIN) != 0) drain_output();
    if ((fds[0].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
    std::array<char, 65536> chunk{};
    const ssize_t count = recv(socket_, chunk.data(), chunk.size(), 0);
    if (count > 0) messages_.append({chunk.data(), static_cast<size_t>(count)});
    ended = count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN);
  }
}

std::optional<Message> Process::notes() const try {
  MessageBuffer notes;
  std::array<char, 65536> chunk{};
  off_t read = 0;
  for (ssize_t count; (count = pread(notes_fd_, chunk.data(), chunk.size(), read)) > 0; read += count)
    notes.append({chunk.data(), static_cast<size_t>(count)});
  return notes.take();
} catch (const Error&) {
  return std::nullopt;  // cut off as it was written
}

void Notes::write(const std::string& text) const {
  for (size_t written = 0; written < text.size();) {
    const ssize_t count =
        pwrite(descriptor_, text.data() + written, text.size() - written, static_cast<off_t>(written));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      throw Error(ErrorKind::internal, fmt::format("the worker cannot write its notes: {}", std::strerror(errno)));
    written += static_cast<size_t>(count);
  }
}

void Process::kill() {
  if (pid_ > 0 && !end_) ::kill(pid_, SIGKILL);
}

ProcessEnd Process::wait() {
  if (end_) return *end_;
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  drain_output();
  end_ = WIFSIGNALED(status) ? ProcessEnd{true, WTERMSIG(status)} : ProcessEnd{false, WEXITSTATUS(status)};
  return *end_;
}

}  // namespace attnprobe::worker
