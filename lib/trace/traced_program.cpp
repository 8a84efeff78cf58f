#include "trace/traced_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"

namespace attnprobe::trace {
namespace {

// All signals except those that report a fault in the trace itself.
sigset_t handed_on() {
  sigset_t set;
  sigfillset(&set);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&set, fault);
  return set;
}

[[noreturn]] void fail_start(const char* what) {
  throw Error(ErrorKind::environment, fmt::format("cannot start the program: {}: {}", what, std::strerror(errno)));
}

std::array<FileDescriptor, 2> program_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_start("pipe2");
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

// Words in the form of execvp.
std::vector<char*> pointers_of(std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (auto& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

// Runs in the child: only system calls and execvp.
[[noreturn]] void become(char* const* words, const ProgramStart& start, const sigset_t& mask, int errors,
                         int own_stderr) {
  for (const int signal : start.default_signals) std::signal(signal, SIG_DFL);
  if (own_stderr >= 0) dup2(own_stderr, STDERR_FILENO);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execvp(words[0], words);
  const int error = errno;
  const ssize_t ignored = write(errors, &error, sizeof error);
  static_cast<void>(ignored);
  _exit(127);
}

}  // namespace

CaughtSignals::CaughtSignals() {
  const sigset_t set = handed_on();
  sigprocmask(SIG_BLOCK, &set, &before_);
  descriptor_ = FileDescriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!descriptor_) fail_start("signalfd");
}

CaughtSignals::~CaughtSignals() {
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

TracedProgram::TracedProgram(const ProgramStart& start, const CaughtSignals& signals) : signals_(&signals) {
  std::vector<std::string> words = start.words;
  const std::vector<char*> arguments = pointers_of(words);
  auto errors = program_pipe();
  std::array<FileDescriptor, 2> output;
  if (start.reads_stderr) output = program_pipe();
  // Sets the trace's own variables in the parent, because the child must not allocate. The parent never reads them
  // again.
  for (const auto& [name, value] : start.environment) setenv(name.c_str(), value.c_str(), 1);
  pid_ = fork();
  if (pid_ < 0) fail_start("fork");
  if (pid_ == 0) become(arguments.data(), start, signals.before(), errors[1].get(), output[1].get());
  for (const auto& variable : start.environment) unsetenv(variable.first.c_str());
  errors[1].reset();
  ssize_t count = 0;
  while ((count = read(errors[0].get(), &start_error_, sizeof start_error_)) < 0 && errno == EINTR) {
  }
  if (count == sizeof start_error_) {
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    return;
  }
  start_error_ = 0;
  stderr_ = std::move(output[0]);
  if (stderr_) fcntl(stderr_.get(), F_SETFL, O_NONBLOCK);
}

std::optional<worker::ProcessEnd> TracedProgram::take_signals(const Guard& guard) {
  signalfd_siginfo info{};
  std::optional<worker::ProcessEnd> end;
  while (read(signals_->descriptor(), &info, sizeof info) == sizeof info) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) {
      end = reap();
      if (end) return end;
      continue;
    }
    // Signals from a terminal, or to the process group, have already reached the program.
    const bool is_of_group = guard.got(signal);
    if (!is_of_group && info.ssi_code <= 0) kill(pid_, signal);
  }
  return end;
}

std::optional<worker::ProcessEnd> TracedProgram::reap() {
  int status = 0;
  for (pid_t pid = 0; (pid = waitpid(pid_, &status, WNOHANG | WUNTRACED)) > 0;) {
    if (WIFSTOPPED(status)) {
      stop_with_program(WSTOPSIG(status));
      continue;
    }
    return WIFSIGNALED(status) ? worker::ProcessEnd{true, WTERMSIG(status)}
                               : worker::ProcessEnd{false, WEXITSTATUS(status)};
  }
  return std::nullopt;
}

// Stops with the same signal, so that the shell sees its job stopped.
void TracedProgram::stop_with_program(int signal) const {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  // A pending stop of this process was also for the program, and must not stop it twice.
  raise(signal);
  sigprocmask(SIG_UNBLOCK, &one, nullptr);
  sigprocmask(SIG_BLOCK, &one, nullptr);
  // SIGCONT may have reached only this process, although it was meant for the job.
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG | WCONTINUED) == 0) kill(pid_, SIGCONT);
}

std::string TracedProgram::read_stderr() {
  std::string text(size_t{1} << 16, '\0');
  const ssize_t count = read(stderr_.get(), text.data(), text.size());
  text.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  if (count == 0) stderr_.reset();
  return text;
}

void end_as(const worker::ProcessEnd& end) {
  if (!end.signalled) std::_Exit(end.code);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  std::signal(end.code, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, end.code);
  raise(end.code);
  sigprocmask(SIG_UNBLOCK, &one, nullptr);
  constexpr int signalled = 128;
  std::_Exit(signalled + end.code);
}

}  // namespace attnprobe::trace
