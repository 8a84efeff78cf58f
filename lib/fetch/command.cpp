#include "fetch/command.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/text.hpp"

namespace attnprobe::fetch {
namespace {

struct Pipe {
  FileDescriptor read, write;
};

Pipe make_pipe(const std::string& program) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw Error(ErrorKind::environment, fmt::format("{}: pipe: {}", program, std::strerror(errno)));
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

// Kills the program in the destructor if it was not waited for.
class Child {
 public:
  Child(const std::vector<std::string>& words, int out, int err) {
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (const auto& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
    // Resets signals that this process ignores but the other program needs.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t usual;
    sigemptyset(&usual);
    for (const int signal : {SIGPIPE, SIGXFSZ}) sigaddset(&usual, signal);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    const int error = posix_spawnp(&pid_, pointers[0], &actions, &attributes, pointers.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
      throw Error(ErrorKind::environment, fmt::format("{} cannot be started: {}", words[0], std::strerror(error)));
  }
  ~Child() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    wait();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool has_ended() const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_;
  }

  int wait() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  pid_t pid_ = 0;
};

// Returns false at the end.
bool read_some(int descriptor, std::string& text) {
  std::array<char, 65536> chunk{};
  const ssize_t count = read(descriptor, chunk.data(), chunk.size());
  if (count > 0) text.append(chunk.data(), static_cast<size_t>(count));
  return count > 0 || (count < 0 && errno == EINTR);
}

}  // namespace

std::optional<std::string> first_on_path(const std::vector<std::string>& programs) {
  const char* path = std::getenv("PATH");
  for (const auto& program : programs)
    for (const auto& folder : split(path == nullptr ? "" : path, ':')) {
      const std::filesystem::path file = std::filesystem::path(folder) / program;
      if (file.is_absolute() && access(file.c_str(), X_OK) == 0) return file.string();
    }
  return std::nullopt;
}

CommandEnd run_command(const std::vector<std::string>& words, const std::function<void()>& waiting, bool shows) {
  Pipe out = make_pipe(words[0]), err = make_pipe(words[0]);
  Child child(words, shows ? STDERR_FILENO : out.write.get(), shows ? STDERR_FILENO : err.write.get());
  out.write = FileDescriptor();
  err.write = FileDescriptor();
  CommandEnd end;
  constexpr int pause_ms = 200;
  while (shows && !child.has_ended()) {
    poll(nullptr, 0, pause_ms);
    if (waiting) waiting();
  }
  std::array<pollfd, 2> open{pollfd{out.read.get(), POLLIN, 0}, pollfd{err.read.get(), POLLIN, 0}};
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    const int ready = poll(open.data(), open.size(), pause_ms);
    if (ready < 0 && errno != EINTR) break;
    if (waiting) waiting();
    if (ready <= 0) continue;
    if (open[0].revents != 0 && !read_some(open[0].fd, end.out)) open[0].fd = -1;
    if (open[1].revents != 0 && !read_some(open[1].fd, end.err)) open[1].fd = -1;
  }
  end.status = child.wait();
  return end;
}

}  // namespace attnprobe::fetch
