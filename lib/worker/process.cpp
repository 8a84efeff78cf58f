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
#include <utility>

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

// If the machine lacks a resource, the user must provide it or reduce the request.
[[noreturn]] void fail(const std::string& what, int error) {
  const char* cure = "";
  if (error == EMFILE || error == ENFILE) cure = "; `ulimit -n` allows too few open files";
  if (error == EAGAIN) cure = "; `ulimit -u` allows too few processes, or --jobs asks for too many";
  if (error == ENOMEM) cure = "; fewer --jobs need less memory";
  if (error == ENOENT && access("/proc/self/exe", F_OK) != 0)
    cure = "; /proc is not mounted, so a program cannot find itself";
  throw Error(ErrorKind::environment,
              fmt::format("cannot start a worker process: {}: {}{}", what, std::strerror(error), cure));
}

// Takes ownership of `number`, the result of a system call.
FileDescriptor owned(int number, const char* call) {
  if (number < 0) fail(call, errno);
  return FileDescriptor(number);
}

// Moves a descriptor away from the numbers that the child needs: dup2 onto itself would keep CLOEXEC.
FileDescriptor moved(const FileDescriptor& descriptor) {
  return owned(fcntl(descriptor.get(), F_DUPFD_CLOEXEC, Process::child_notes + 1), "fcntl");
}

struct Pair {
  FileDescriptor first, second;
};

Pair socket_pair() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) fail("socketpair", errno);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

// The read end and the write end.
Pair pipe_pair() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe2", errno);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

// The actions of posix_spawn on the child's descriptors.
class FileActions {
 public:
  FileActions() { check(posix_spawn_file_actions_init(&actions_)); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  void duplicate(const FileDescriptor& from, int to) {
    check(posix_spawn_file_actions_adddup2(&actions_, from.get(), to));
  }
  void open(int descriptor, const char* file, int flags) {
    check(posix_spawn_file_actions_addopen(&actions_, descriptor, file, flags, 0));
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  static void check(int error) {
    if (error != 0) fail("posix_spawn_file_actions", error);
  }

  posix_spawn_file_actions_t actions_{};
};

class SpawnAttributes {
 public:
  explicit SpawnAttributes(bool own_group) {
    check(posix_spawnattr_init(&attributes_));
    if (own_group) check(posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP));
  }
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  static void check(int error) {
    if (error != 0) fail("posix_spawnattr", error);
  }

  posix_spawnattr_t attributes_{};
};

// Signals that end a process; glibc's sigabbrev_np came with 2.32.
const char* signal_name(int number) {
  constexpr std::pair<int, const char*> names[]{
      {SIGHUP, "HUP"},   {SIGINT, "INT"},   {SIGQUIT, "QUIT"}, {SIGILL, "ILL"},   {SIGTRAP, "TRAP"}, {SIGABRT, "ABRT"},
      {SIGBUS, "BUS"},   {SIGFPE, "FPE"},   {SIGKILL, "KILL"}, {SIGUSR1, "USR1"}, {SIGSEGV, "SEGV"}, {SIGUSR2, "USR2"},
      {SIGPIPE, "PIPE"}, {SIGALRM, "ALRM"}, {SIGTERM, "TERM"}, {SIGXCPU, "XCPU"}, {SIGXFSZ, "XFSZ"}, {SIGSYS, "SYS"}};
  for (const auto& [signal, name] : names)
    if (signal == number) return name;
  return "?";
}

}  // namespace

std::string ProcessEnd::text() const {
  if (!signalled) return fmt::format("exit status {}", code);
  return fmt::format("signal {} (SIG{}, {})", code, signal_name(code), strsignal(code));
}

bool ProcessEnd::is_from_outside() const {
  return signalled && (code == SIGKILL || code == SIGTERM || code == SIGHUP || code == SIGINT);
}

Process::Process(const std::vector<std::string>& arguments,
                 const std::vector<std::pair<std::string, std::optional<std::string>>>& environment, bool is_tree)
    : is_tree_(is_tree) {
  Pair sockets = socket_pair(), output = pipe_pair();
  socket_ = std::move(sockets.first);
  const FileDescriptor child_end = moved(sockets.second), child_output = moved(output.second);
  output_pipe_ = std::move(output.first);
  if (fcntl(output_pipe_.get(), F_SETFL, O_NONBLOCK) != 0) fail("fcntl", errno);
  notes_file_ = moved(owned(memfd_create("attnprobe notes", MFD_CLOEXEC), "memfd_create"));

  FileActions actions;
  // stdout is for reports, so the output of libraries goes to stderr.
  actions.duplicate(child_output, STDOUT_FILENO);
  actions.duplicate(child_output, STDERR_FILENO);
  actions.duplicate(child_end, child_socket);
  actions.duplicate(notes_file_, child_notes);
  actions.open(STDIN_FILENO, "/dev/null", O_RDONLY);

  std::vector<std::string> words = arguments;
  std::vector<std::string> variables = changed_environment(environment);
  const SpawnAttributes attributes(is_tree);
  const int error = posix_spawn(&pid_, words[0].c_str(), actions.get(), attributes.get(), pointers(words).data(),
                                pointers(variables).data());
  if (error != 0) {
    pid_ = -1;
    fail(arguments[0], error);
  }
}

Process::~Process() {
  if (pid_ > 0 && !end_) {
    kill();
    wait();
  }
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
  for (ssize_t count; (count = read(output_pipe_.get(), chunk.data(), chunk.size())) > 0;) {
    output_.append(chunk.data(), static_cast<size_t>(count));
    if (output_.size() > 2 * kept_output) output_.erase(0, output_.size() - kept_output);
  }
}

Process::Read Process::receive(Message& message, std::chrono::steady_clock::time_point deadline,
                               const std::atomic<bool>* stop) {
  using std::chrono::milliseconds;
  constexpr int64_t longest_wait = 200;  // between two checks of `stop`
  bool ended = false;
  std::optional<std::chrono::steady_clock::time_point> end_of_grace;
  while (true) {
    if (auto whole = messages_.take()) {
      message = std::move(*whole);
      return Read::message;
    }
    if (ended) return Read::ended;
    const auto now = std::chrono::steady_clock::now();
    const auto left = std::chrono::ceil<milliseconds>(deadline - now).count();
    if (left <= 0) return Read::timeout;
    if (stop != nullptr && *stop && !end_of_grace) end_of_grace = now + grace;
    if (end_of_grace && now >= *end_of_grace) return Read::stopped;
    std::array<pollfd, 2> fds{{{socket_.get(), POLLIN, 0}, {output_pipe_.get(), POLLIN, 0}}};
    poll(fds.data(), fds.size(), static_cast<int>(std::min<int64_t>(left, longest_wait)));
    if ((fds[1].revents & POLLIN) != 0) drain_output();
    if ((fds[0].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
    std::array<char, 65536> chunk{};
    const ssize_t count = recv(socket_.get(), chunk.data(), chunk.size(), 0);
    if (count > 0) messages_.append({chunk.data(), static_cast<size_t>(count)});
    ended = count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN);
  }
}

std::optional<Message> Process::notes() const try {
  MessageBuffer notes;
  std::array<char, 65536> chunk{};
  off_t read = 0;
  for (ssize_t count; (count = pread(notes_file_.get(), chunk.data(), chunk.size(), read)) > 0; read += count)
    notes.append({chunk.data(), static_cast<size_t>(count)});
  return notes.take();
} catch (const Error&) {
  return std::nullopt;  // truncated while it was written
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

bool Process::is_there() const {
  char byte = 0;
  const ssize_t count = recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

void Process::kill() {
  if (pid_ > 0 && !end_) ::kill(is_tree_ ? -pid_ : pid_, SIGKILL);
}

void Process::end_messages() {
  shutdown(socket_.get(), SHUT_WR);
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
