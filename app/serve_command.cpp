#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/limits.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "line_reader.hpp"
#include "output.hpp"
#include "service/rpc.hpp"

namespace attnprobe::app {
namespace {

using service::Rpc;

// A line of input, and the answers to its requests, which are printed together.
struct Line {
  Rpc::Message message;
  std::vector<std::string> answers;
  size_t bytes = 0;  // approximate memory of a request
  size_t left = 0;
  bool is_lost = false;
};

struct Job {
  std::shared_ptr<Line> line;
  size_t index = 0;  // index of the request in the line
};

// Requests are answered by separate threads, so that the next lines, such as `cancel`, are read meanwhile.
class Server {
 public:
  Server() {
    if (!wake_) throw std::system_error(errno, std::system_category(), "eventfd");
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    rpc_.stop_all();
    end_threads();
  }

  // Becomes readable when the client has stopped reading answers.
  int wake() const { return wake_.get(); }

  void take(const std::string& text) try {
    auto line = std::make_shared<Line>();
    line->message = rpc_.read(text);
    line->left = line->message.requests.size();
    line->bytes = text.size() / line->left;
    line->answers.resize(line->left);
    for (size_t i = 0; i < line->answers.size(); ++i) {
      const Job job{line, i};
      if (Rpc::is_answered_at_once(*line->message.requests[i]))
        work(job);
      else
        wait_in_line(job);
    }
  } catch (const std::bad_alloc&) {
    give(service::no_memory_answer);
  }
  void give(std::string_view answer) noexcept {
    if (answer.empty()) return;
    try {
      const std::lock_guard lock(printing_);
      if (has_failed_) return;
      print_data(answer);
      print_data("\n");
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      has_failed_ = true;
      waiting_.clear();
      rpc_.stop_all();
      changed_.notify_all();
      eventfd_write(wake_.get(), 1);
    }
  }

  // Waits until all requests are answered. Throws the error of writing answers.
  void finish() {
    end_threads();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  static constexpr size_t most_threads = 64, most_waiting = 10'000, most_waiting_bytes = size_t{16} << 20;

  void wait_in_line(const Job& job) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      return failure_ || waiting_.empty() || (waiting_.size() < most_waiting && waiting_bytes_ < most_waiting_bytes);
    });
    if (failure_) return;
    waiting_.push_back(job);
    waiting_bytes_ += job.line->bytes;
    changed_.notify_all();
    if (idle_ >= waiting_.size() || threads_.size() == most_threads) return;
    try {
      threads_.emplace_back([this] { answer_all(); });
      ++idle_;
    } catch (const std::exception&) {  // the system allows no more threads: the existing threads do all the work
      if (threads_.empty()) answer_next(lock);
    }
  }

  void answer_all() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return is_ending_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      --idle_;
      answer_next(lock);
      ++idle_;
    }
  }

  void answer_next(std::unique_lock<std::mutex>& lock) {
    const Job job = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_bytes_ -= job.line->bytes;
    changed_.notify_all();
    lock.unlock();
    work(job);
    lock.lock();
  }

  void work(const Job& job) noexcept {
    Line& line = *job.line;
    bool is_lost = false;
    try {
      line.answers[job.index] = rpc_.answer(*line.message.requests[job.index]);
    } catch (...) {
      is_lost = true;
    }
    {
      const std::lock_guard lock(mutex_);
      line.is_lost = line.is_lost || is_lost;
      if (--line.left > 0) return;
    }
    try {
      give(line.is_lost ? service::no_memory_answer : Rpc::line_of(line.message, line.answers));
    } catch (...) {
      give(service::no_memory_answer);
    }
  }

  void end_threads() {
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
      changed_.notify_all();
    }
    for (auto& thread : threads_) thread.join();
    threads_.clear();
  }

  FileDescriptor wake_{eventfd(0, EFD_CLOEXEC)};
  Rpc rpc_{""};
  std::mutex mutex_, printing_;
  std::condition_variable changed_;
  std::deque<Job> waiting_;
  size_t waiting_bytes_ = 0, idle_ = 0;
  bool is_ending_ = false;
  std::atomic<bool> has_failed_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

int serve() {
  const uint64_t longest = value_of(limits::document_bytes);
  if (isatty(STDIN_FILENO) != 0) spdlog::info("JSON-RPC 2.0, one request per line; Ctrl-D ends the input");
  Server server;
  LineReader lines(longest, server.wake());
  std::string line;
  for (auto read = lines.next(line); read != LineReader::Read::end; read = lines.next(line)) {
    if (read == LineReader::Read::too_long)
      server.give(Rpc::refusal(
          fmt::format("request: longer than the {} bytes that {} allows", longest, limits::document_bytes.variable)));
    else if (read == LineReader::Read::no_memory)
      server.give(service::no_memory_answer);
    else if (line.find_first_not_of(" \t\r") != std::string::npos)
      server.take(line);
  }
  server.finish();
  return all_met;
}

}  // namespace

void add_serve(CLI::App& app, Run& run) {
  auto* command = app.add_subcommand(
      "serve", "Answer JSON-RPC 2.0 requests from standard input, one per line, for editors, agents and dashboards");
  command->add_flag_function(
      "--stdio", [](int64_t) {},
      "read requests from standard input and answer on standard output; this is the only transport, so the option is optional");
  command->callback([&run] { run = serve; });
}

}  // namespace attnprobe::app
