#include "output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>

#include "base/number.hpp"
#include "base/printable.hpp"
#include "commands.hpp"
#include "exit_code.hpp"

namespace attnprobe::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* standard_output = "standard output";

bool broken_pipe_is_ignored = false, file_size_is_ignored = false;

// Returns whether the signal was ignored before.
bool ignore_signal(int number) {
  struct sigaction before {};
  sigaction(number, nullptr, &before);
  signal(number, SIG_IGN);
  return before.sa_handler == SIG_IGN;
}

// Of the terminal, otherwise of the environment's COLUMNS; 0 if neither is known.
size_t columns_of(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  return parse_number<size_t>(columns == nullptr ? "" : columns).value_or(0);
}

// "attnprobe: error: …". Further lines are indented, so that none can look like a separate message.
class StandardError : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const auto name = spdlog::level::to_string_view(message.level);
    std::string level(name.data(), name.size());
    if (coloured_) level = coloured(level, codes_of(message.level));
    std::string text(message.payload.data(), message.payload.size());
    for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 3) text.insert(at + 1, "  ");
    say(printable(fmt::format("attnprobe: {}: {}\n", level, text)));
  }
  void flush_() override {}

 private:
  static const char* codes_of(spdlog::level::level_enum level) {
    if (level >= spdlog::level::err) return "1;31";
    return level == spdlog::level::warn ? "1;33" : "32";
  }

  bool coloured_ = wants_colour(STDERR_FILENO);
};

// Opened in the opposite mode, so that reading a closed input and writing a closed output remain errors. Text for a
// closed standard error is lost, as intended. A started program still finds the streams closed.
void open_closed_streams() {
  constexpr int flags[] = {O_WRONLY, O_RDONLY, O_WRONLY};
  for (int number = 0; number < 3; ++number)
    if (fcntl(number, F_GETFD) < 0 && open("/dev/null", flags[number] | O_CLOEXEC) < 0) std::_Exit(environment_lacks);
}

// The identity of a file, the same for each of its names.
struct Identity {
  dev_t device = 0;
  ino_t file = 0;
  fs::path name;  // name of a missing file, in the folder `file`
  bool operator==(const Identity&) const = default;
};

std::optional<Identity> identity_of(const struct stat& status) {
  return Identity{status.st_dev, status.st_ino, {}};
}

std::optional<Identity> identity_of(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) return identity_of(status);
  const fs::path target = without_links(path);
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (stat(folder.c_str(), &status) != 0) return std::nullopt;  // opening it will report the error
  return Identity{status.st_dev, status.st_ino, target.filename()};
}

// A device is not a user's file: its output is discarded or goes to a terminal.
bool is_device(const fs::path& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISCHR(status.st_mode);
}

std::vector<std::optional<Identity>> identities_of_input(const fs::path& path) {
  struct stat status {};
  if (path == "-") {
    if (fstat(STDIN_FILENO, &status) != 0) return {};
    return {identity_of(status)};
  }
  if (stat(path.c_str(), &status) != 0) return {};  // a pattern, a version, or an error reported when it is read
  std::vector<std::optional<Identity>> identities{identity_of(status)};
  if (S_ISDIR(status.st_mode))
    for (const char* name : {"cells.jsonl", "report.json"}) identities.push_back(identity_of(path / name));
  return identities;
}

}  // namespace

void prepare_streams() {
  open_closed_streams();
  broken_pipe_is_ignored = ignore_signal(SIGPIPE);
  file_size_is_ignored = ignore_signal(SIGXFSZ);
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("attnprobe", std::make_shared<StandardError>()));
}

std::vector<int> signals_for_programs() {
  std::vector<int> signals;
  if (!broken_pipe_is_ignored) signals.push_back(SIGPIPE);
  if (!file_size_is_ignored) signals.push_back(SIGXFSZ);
  return signals;
}

void print_data(std::string_view data) {
  flush_output();
  write_all(STDOUT_FILENO, data, standard_output);
}

void print_text(std::string_view text) {
  print_data(printable(text));
}

void flush_output() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  const int error = errno;
  clearerr(stdout);
  const std::string message = fmt::format("{}: cannot be written: {}", standard_output,
                                          error == 0       ? "an earlier write failed"
                                          : error == EBADF ? "it is closed"
                                                           : std::strerror(error));
  if (error == EPIPE) throw BrokenPipe(ErrorKind::environment, message);
  throw Error(ErrorKind::environment, message);
}

void say(std::string_view text) noexcept try {
  // A full pipe must not stop the work.
  constexpr int longest_wait_ms = 200;
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  if (poll(&ready, 1, longest_wait_ms) <= 0 || (ready.revents & POLLOUT) == 0) return;
  write_all(STDERR_FILENO, text, "standard error");
} catch (...) {
  return;  // the reader has closed the pipe
}

std::string cut_to_columns(std::string_view text, size_t columns) {
  constexpr int64_t first_wide = 0x1100;
  size_t used = 0, end = 0;
  while (end < text.size()) {
    const Character character = character_at(text, end);
    const size_t width = character.code >= first_wide ? 2 : 1;
    if (used + width > columns) break;
    used += width;
    end += character.size;
  }
  return std::string(text.substr(0, end));
}

std::optional<size_t> terminal_columns() {
  const size_t columns = columns_of(STDOUT_FILENO);
  return columns > 40 ? std::optional(std::min<size_t>(columns, 140)) : std::nullopt;
}

void say_status(std::string_view text) noexcept try {
  constexpr size_t usual = 80;
  const size_t columns = columns_of(STDERR_FILENO);
  // A line that fills the last column wraps on some terminals.
  say("\r\x1b[K" + cut_to_columns(text, (columns > 1 ? columns : usual) - 1));
} catch (...) {
  return;
}

void end_by_broken_pipe() {
  if (broken_pipe_is_ignored) return;
  signal(SIGPIPE, SIG_DFL);
  raise(SIGPIPE);
}

void write_text(const std::string& file, const std::string& text) {
  write_data(file, printable(text));
}

void write_data(const std::string& file, const std::string& data) {
  if (file.empty())
    print_data(data);
  else
    OutputFile(file).replace(data);
}

void check_outputs(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].path.empty() || is_device(outputs[i].path)) continue;
    const auto identity = identity_of(outputs[i].path);
    if (!identity) continue;
    for (const NamedFile& input : inputs)
      for (const auto& read : identities_of_input(input.path))
        if (read == identity)
          throw Error(ErrorKind::usage, fmt::format("{}: this file is the input {}; name another output file",
                                                    outputs[i].words, input.words));
    for (size_t j = 0; j < i; ++j)
      if (identity_of(outputs[j].path) == identity)
        throw Error(ErrorKind::usage, fmt::format("{}: the same file as {}; each output needs its own file",
                                                  outputs[i].words, outputs[j].words));
  }
}

}  // namespace attnprobe::app
