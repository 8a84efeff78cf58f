#include "trace/guard.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "trace/growing_log.hpp"
#include "trace/log_folder.hpp"
#include "trace/running.hpp"

namespace attnprobe::trace {
namespace {

namespace fs = std::filesystem;

// The trace sends one of these, or the traced program's process id. The guard answers with the numbers of the signals
// that arrived, then `all_told`.
constexpr pid_t end_message = -1, ask_message = -2;
constexpr unsigned char all_told = 0;

// The process id in "cudnn-PID.log"; 0 for another name.
int64_t writer_of_log(const std::string& name) {
  constexpr std::string_view prefix = "cudnn-";
  int64_t pid = 0;
  if (name.starts_with(prefix)) std::from_chars(name.data() + prefix.size(), name.data() + name.size(), pid);
  return pid;
}

// Runs after the trace has died: there is no reader, but the programs still write.
void look_after(const fs::path& folder, bool keeps_folder, pid_t program) {
  constexpr timespec pause{0, 200'000'000};
  constexpr int rounds_a_search = 10;  // looks through all processes for one that may still begin a log
  setsid();
  bool any = true;
  for (int round = 0; any; ++round, nanosleep(&pause, nullptr)) {
    bool writes = is_running(program);
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (!keeps_folder) give_back_all(entry.path());
      writes = writes || is_running(writer_of_log(entry.path().filename()));
    }
    if (round % rounds_a_search == 0) any = writes || any_process_names(folder);
  }
  if (!keeps_folder) remove_log_folder(folder);
}

[[noreturn]] void run_guard(const fs::path& folder, bool keeps_folder, int from_trace, int to_trace) {
  prctl(PR_SET_NAME, "attnprobe-guard");
  if (chdir("/") != 0) _exit(1);  // a folder in use cannot be unmounted
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int number = 0; number < 3; ++number) dup2(nothing, number);
  // Closes the caller's other descriptors; otherwise a pipe's reader would wait for its end.
  for (const int number : {from_trace, to_trace}) fcntl(number, F_SETFD, 0);
  const int low = std::min(from_trace, to_trace), high = std::max(from_trace, to_trace);
  close_descriptors(3, static_cast<unsigned>(low) - 1);
  close_descriptors(static_cast<unsigned>(low) + 1, static_cast<unsigned>(high) - 1);
  close_descriptors(static_cast<unsigned>(high) + 1, ~0U);
  flock(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), LOCK_EX);  // the folder is in use until its end
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  const int signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
  const auto tell = [to_trace](unsigned char number) {
    const ssize_t ignored = write(to_trace, &number, 1);
    static_cast<void>(ignored);  // the other pipe shows that the trace has ended
  };
  const auto tell_signals = [&] {
    signalfd_siginfo info{};
    while (read(signals, &info, sizeof info) == sizeof info) tell(static_cast<unsigned char>(info.ssi_signo));
  };
  pid_t program = 0;
  while (true) {
    std::array<pollfd, 2> ready{{{signals, POLLIN, 0}, {from_trace, POLLIN, 0}}};
    if (poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) break;
    tell_signals();
    if ((ready[1].revents & (POLLIN | POLLHUP)) == 0) continue;
    pid_t message = 0;
    if (read(from_trace, &message, sizeof message) != sizeof message) break;
    if (message == end_message) _exit(0);
    if (message == ask_message) {
      tell_signals();
      tell(all_told);
    } else {
      program = message;
    }
  }
  look_after(folder, keeps_folder, program);
  _exit(0);
}

std::array<FileDescriptor, 2> guard_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw Error(ErrorKind::environment, fmt::format("a trace needs a pipe: {}", std::strerror(errno)));
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

}  // namespace

Guard::Guard(const fs::path& folder, bool keeps_folder) {
  auto orders = guard_pipe(), answers = guard_pipe();
  // Neither side may block: not a guard that answers too much, nor a trace whose guard has ended.
  fcntl(answers[1].get(), F_SETFL, O_NONBLOCK);
  pid_ = fork();
  if (pid_ < 0)
    throw Error(ErrorKind::environment, fmt::format("a trace needs a second process: {}", std::strerror(errno)));
  if (pid_ == 0) {
    orders[1].reset();
    answers[0].reset();
    run_guard(folder, keeps_folder, orders[0].get(), answers[1].get());
  }
  to_guard_ = std::move(orders[1]);
  from_guard_ = std::move(answers[0]);
}

Guard::~Guard() {
  if (!to_guard_) return;
  const pid_t message = end_message;
  if (write(to_guard_.get(), &message, sizeof message) != sizeof message) kill(pid_, SIGKILL);
  to_guard_.reset();
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Guard::watch(pid_t program) const {
  const ssize_t ignored = write(to_guard_.get(), &program, sizeof program);
  static_cast<void>(ignored);  // SIGPIPE is ignored; a dead guard can do nothing
}

bool Guard::got(int signal) const {
  constexpr timespec delivery{0, 5'000'000};  // the kernel signals the group's processes one after another
  constexpr int longest_wait_ms = 1000;
  nanosleep(&delivery, nullptr);
  const pid_t message = ask_message;
  if (write(to_guard_.get(), &message, sizeof message) != sizeof message) return false;
  bool found = false;
  pollfd ready{from_guard_.get(), POLLIN, 0};
  while (poll(&ready, 1, longest_wait_ms) == 1 && (ready.revents & POLLIN) != 0) {
    unsigned char number = 0;
    if (read(from_guard_.get(), &number, 1) != 1 || number == all_told) break;
    found = found || number == signal;
  }
  return found;
}

void Guard::leave_behind() {
  to_guard_.reset();
}

}  // namespace attnprobe::trace
