#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "verdict.hpp"

namespace frontend {
namespace {

std::string name_in(const std::string& line) {
  const Json json = Json::parse(line, nullptr, false);
  return json.is_object() ? json.value("name", "") : "";
}

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(3);
}

[[noreturn]] void run_child(const std::vector<std::string>& lines, size_t first, const std::function<Ask()>& make_ask,
                            int to_parent, FILE* said) {
  dup2(fileno(said), STDOUT_FILENO);
  dup2(fileno(said), STDERR_FILENO);
  FILE* pipe = fdopen(to_parent, "w");
  const Ask ask = make_ask();
  for (size_t i = first; i < lines.size(); ++i) {
    std::fprintf(pipe, "%s\n", ask(lines[i]).to_json().dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
    std::fflush(pipe);
  }
  _exit(0);  // static destructors are not under test
}

Verdict from_json(const Json& json) {
  return {json.at("name"),    json.at("stage"),   json.at("code"),
          json.at("message"), json.at("engines"), json.at("implementation")};
}

// The end of the child's standard output and error.
std::string last_words(FILE* said) {
  std::fflush(said);
  const long size = lseek(fileno(said), 0, SEEK_END);
  std::string text(static_cast<size_t>(size < 500 ? size : 500), '\0');
  const ssize_t count = pread(fileno(said), text.data(), text.size(), size - static_cast<long>(text.size()));
  text.resize(count < 0 ? 0 : static_cast<size_t>(count));
  return text;
}

// Reads verdicts until the child closes the pipe or exceeds its time; returns whether it exceeded its time.
bool read_verdicts(int from_child, int timeout_seconds, const std::function<void(const Verdict&)>& report) {
  std::string buffer;
  char chunk[65536];
  for (;;) {
    pollfd waiting{from_child, POLLIN, 0};
    const int ready = poll(&waiting, 1, timeout_seconds * 1000);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return true;
    const ssize_t count = read(from_child, chunk, sizeof chunk);
    if (count <= 0) return false;
    buffer.append(chunk, static_cast<size_t>(count));
    for (size_t end; (end = buffer.find('\n')) != std::string::npos; buffer.erase(0, end + 1))
      report(from_json(Json::parse(buffer.substr(0, end))));
  }
}

// The verdict for the config at which the child died.
Verdict dead(const std::string& line, bool late, int status, FILE* said) {
  Verdict verdict{name_in(line), late ? "timeout" : "crashed", "", last_words(said), {}, ""};
  if (!late && WIFSIGNALED(status)) verdict.code = strsignal(WTERMSIG(status));
  if (!late && WIFEXITED(status)) verdict.code = "exit code " + std::to_string(WEXITSTATUS(status));
  return verdict;
}

}  // namespace

void ask_all(const std::vector<std::string>& lines, const std::function<Ask()>& make_ask, int timeout_seconds,
             const std::function<void(const Verdict&)>& report) {
  size_t done = 0;
  while (done < lines.size()) {
    int ends[2];
    if (pipe(ends) != 0) die("pipe");
    FILE* said = std::tmpfile();
    if (said == nullptr) die("tmpfile");
    const pid_t child = fork();
    if (child < 0) die("fork");
    if (child == 0) {
      close(ends[0]);
      run_child(lines, done, make_ask, ends[1], said);
    }
    close(ends[1]);
    const size_t before = done;
    const bool late = read_verdicts(ends[0], timeout_seconds, [&](const Verdict& verdict) {
      ++done;
      report(verdict);
    });
    close(ends[0]);
    if (late) kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 3) {  // something is missing, so the next child would also fail
      std::fprintf(stderr, "%s\n", last_words(said).c_str());
      std::exit(3);
    }
    if (done < lines.size()) {
      report(dead(lines[done], late, status, said));
      ++done;
    } else if (done == before) {
      die("child said nothing");
    }
    std::fclose(said);
  }
}

Json Verdict::to_json() const {
  return {{"name", name},       {"stage", stage},     {"code", code},
          {"message", message}, {"engines", engines}, {"implementation", implementation}};
}

}  // namespace frontend
