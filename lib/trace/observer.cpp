#include "trace/observer.hpp"

#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/error.hpp"
#include "log/log_entries.hpp"
#include "trace/running.hpp"

namespace attnprobe::trace {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int pieces_a_look = 4;  // per log, so that neither logs nor signals wait
constexpr std::string_view log_prefix = "cudnn-", log_suffix = ".log";
// A process's memory map is read early, because the process may be short-lived, and then less and less often.
constexpr std::array<std::chrono::milliseconds, 6> looks_at_maps{
    std::chrono::milliseconds(0),    std::chrono::milliseconds(100),  std::chrono::milliseconds(500),
    std::chrono::milliseconds(2000), std::chrono::milliseconds(8000), std::chrono::milliseconds(30000)};
constexpr std::chrono::seconds between_later_looks{60};
// A dead process that was silent this long has finished its log.
constexpr std::chrono::milliseconds silence{300};

// The process id in "cudnn-PID.log"; none for another name.
std::optional<int64_t> pid_of_log(std::string_view name) {
  if (!name.starts_with(log_prefix) || !name.ends_with(log_suffix)) return std::nullopt;
  name = name.substr(log_prefix.size(), name.size() - log_prefix.size() - log_suffix.size());
  int64_t pid = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  return error == std::errc() && end == name.data() + name.size() ? std::optional<int64_t>(pid) : std::nullopt;
}

void add_libraries(TracedProcess& process, machine::ProcessLibraries&& found) {
  if (!found.command.empty()) process.command = std::move(found.command);
  for (auto& library : found.libraries)
    if (std::none_of(process.libraries.begin(), process.libraries.end(),
                     [&](const auto& known) { return known.path == library.path; }))
      process.libraries.push_back(std::move(library));
}

}  // namespace

struct Observer::ProcessLog {
  ProcessLog(const fs::path& file, AfterReading after, int64_t pid) : path(file), log(file, after) {
    process.pid = pid;
  }

  fs::path path;
  GrowingLog log;
  replay::LogReader reader;
  TracedProcess process;
  Clock::time_point begun = Clock::now(), last_growth = begun, next_map = begun;
  size_t maps_read = 0;
  std::vector<char> told;  // for each of reader.so_far().graphs: 0 nothing, 1 refused, 2 works
};

Observer::Observer(const LogFolder& folder, OnGraph on_graph)
    : folder_(folder), on_graph_(std::move(on_graph)), watch_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  if (watch_ && inotify_add_watch(watch_.get(), folder.path().c_str(), IN_CREATE) < 0) watch_.reset();
}

Observer::~Observer() = default;

bool Observer::look() {
  find_logs();
  bool more = false;
  for (auto next = logs_.begin(); next != logs_.end();) {
    auto& log = *next->second;
    for (int i = 0; i < pieces_a_look; ++i) {
      const bool any = read_piece(log);
      if (!any) break;
      more = more || i + 1 == pieces_a_look;
    }
    look_at_process(log);
    if (on_graph_) tell_news(log);
    const bool is_silent = Clock::now() - log.last_growth > silence;
    if (is_silent && !is_running(log.process.pid)) {
      end_log(log);
      next = logs_.erase(next);
    } else {
      ++next;
    }
  }
  read_frontend_logs();
  return more;
}

void Observer::find_logs() {
  if (watch_) {
    std::array<char, 4096> events{};
    while (read(watch_.get(), events.data(), events.size()) > 0) {
    }
  }
  take_frontend_file();
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_.path(), error)) {
    const std::string name = entry.path().filename();
    const auto pid = pid_of_log(name);
    if (!pid || logs_.count(name) != 0) continue;
    if (folder_.is_kept() &&
        std::any_of(processes_.begin(), processes_.end(), [&](const auto& done) { return done.pid == *pid; }))
      continue;
    try {
      logs_.emplace(name, std::make_unique<ProcessLog>(entry.path(), folder_.after_reading(), *pid));
    } catch (const Error& e) {
      problems_.insert(e.what());
    }
  }
}

// cudnn-frontend uses one file name for all processes and truncates the file when it opens it. Renaming it at once
// gives each process its own file.
void Observer::take_frontend_file() {
  const fs::path file = folder_.frontend_file();
  const fs::path own = folder_.path() / fmt::format("frontend-{}.log", frontend_logs_.size() + 1);
  if (rename(file.c_str(), own.c_str()) != 0) return;
  try {
    frontend_logs_.push_back({GrowingLog(own, folder_.after_reading()), ""});
  } catch (const Error& e) {
    problems_.insert(e.what());
  }
}

bool Observer::read_piece(ProcessLog& log) {
  const std::string_view text = log.log.read();
  if (text.empty()) return false;
  log.reader.feed(text);
  log.last_growth = Clock::now();
  return true;
}

void Observer::read_frontend_logs() {
  for (size_t file = 0; file < frontend_logs_.size(); ++file) {
    auto& [growing, partial] = frontend_logs_[file];
    for (int i = 0; i < pieces_a_look; ++i) {
      const std::string_view text = growing.read();
      if (text.empty()) break;
      partial += text;
      size_t begin = 0;
      for (size_t end = 0; (end = partial.find('\n', begin)) != std::string::npos; begin = end + 1)
        frontend_reader_.line(file, std::string_view(partial).substr(begin, end - begin));
      partial.erase(0, begin);
      if (partial.size() > log::LogSplitter::longest_line) partial.clear();
    }
  }
}

void Observer::look_at_process(ProcessLog& log) {
  const auto now = Clock::now();
  if (now < log.next_map) return;
  ++log.maps_read;
  log.next_map =
      log.maps_read < looks_at_maps.size() ? log.begun + looks_at_maps[log.maps_read] : now + between_later_looks;
  try {
    add_libraries(log.process, machine::inspect_process(log.process.pid));
  } catch (const Error&) {
    return;  // the process has ended; earlier findings remain
  }
}

void Observer::tell_news(ProcessLog& log) {
  const auto& graphs = log.reader.so_far().graphs;
  log.told.resize(graphs.size());
  for (size_t i = 0; i < graphs.size(); ++i) {
    const auto state = static_cast<char>(graphs[i].works() ? 2 : graphs[i].refused() ? 1 : 0);
    if (state <= log.told[i]) continue;
    log.told[i] = state;
    on_graph_(log.process.pid, graphs[i]);
  }
}

void Observer::end_log(ProcessLog& log) {
  replay::LogHistory history = log.reader.finish();
  log.process.graphs = static_cast<int64_t>(history.graphs.size());
  log.process.log_bytes = log.log.bytes_read() + log.log.bytes_passed_over();
  log.process.problems = machine::problems_of(log.process.libraries);
  log.process.still_runs = is_running(log.process.pid);
  bytes_read_ += log.log.bytes_read();
  passed_over_ += log.log.bytes_passed_over();
  for (auto& graph : history.graphs) graph.first_line = 0;  // the file will be deleted
  merged_.add(std::move(history), log.process.pid, fmt::format("process {}", log.process.pid));
  processes_.push_back(std::move(log.process));
  if (!folder_.is_kept() && !processes_.back().still_runs) unlink(log.path.c_str());
}

TraceFindings Observer::finish() {
  find_logs();
  for (auto& [name, log] : logs_) {
    // A log that is still being written has no end, so reading is limited.
    for (int64_t left = GrowingLog::most_unread; left > 0; left -= static_cast<int64_t>(GrowingLog::piece))
      if (!read_piece(*log)) break;
    look_at_process(*log);
    if (on_graph_) tell_news(*log);
    end_log(*log);
  }
  logs_.clear();
  read_frontend_logs();
  TraceFindings findings;
  findings.processes = std::move(processes_);
  processes_.clear();
  for (auto& [log, partial] : frontend_logs_) {
    bytes_read_ += log.bytes_read();
    passed_over_ += log.bytes_passed_over();
  }
  findings.frontend_refusals = frontend_reader_.refusals();
  findings.frontend = explain::answer_of(frontend_reader_.finish(), true);
  findings.program_stderr = explain::answer_of(stderr_finder_.finish(), true);
  findings.bytes_read = bytes_read_;
  findings.bytes_passed_over = passed_over_;
  findings.notes.assign(problems_.begin(), problems_.end());
  if (merged_.dropped > 0)
    findings.notes.push_back(
        fmt::format("{} graphs beyond the first {} are skipped", merged_.dropped, replay::MergedHistory::most_graphs));
  findings.replay = replay::replay_of("the trace", std::move(merged_.history));
  findings.pids = std::move(merged_.sources);
  return findings;
}

}  // namespace attnprobe::trace
