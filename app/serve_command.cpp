#include <fmt/format.h>

#include <condition_variable>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "base/limits.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "output.hpp"
#include "service/rpc.hpp"

namespace attnprobe::app {
namespace {

// Requests on threads of their own, their answers one line each as they come.
class Server {
 public:
  Server() = default;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    rpc_.stop_all();
    wait_for_fewer_than(1);
  }

  void take(std::string line) {
    wait_for_fewer_than(most_at_once);
    if (std::exchange(nobody_reads_, false))
      throw BrokenPipe(ErrorKind::environment, "standard output: nobody reads any more");
    const std::lock_guard lock(mutex_);
    ++under_way_;
    std::thread([this, line = std::move(line)] {
      give(rpc_.answer(line));
      const std::lock_guard done(mutex_);
      --under_way_;
      changed_.notify_all();
    }).detach();
  }

  void wait_for_fewer_than(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return under_way_ < count; });
  }

 private:
  static constexpr size_t most_at_once = 64;

  void give(const std::string& answer) noexcept try {
    if (answer.empty()) return;
    const std::lock_guard lock(printing_);
    print_data(answer + "\n");
    flush_output();
  } catch (const std::exception&) {
    const std::lock_guard lock(mutex_);
    nobody_reads_ = true;
    rpc_.stop_all();
  }

  service::Rpc rpc_{""};
  std::mutex mutex_, printing_;
  std::condition_variable changed_;
  size_t under_way_ = 0;
  bool nobody_reads_ = false;
};

int serve() {
  Server server;
  const uint64_t longest = value_of(limits::document_bytes);
  for (std::string line; std::getline(std::cin, line);) {
    if (line.size() > longest)
      throw Error(ErrorKind::usage, fmt::format("a request of {} bytes is longer than the {} that {} allows",
                                                line.size(), longest, limits::document_bytes.variable));
    if (line.find_first_not_of(" \t\r") != std::string::npos) server.take(std::move(line));
  }
  server.wait_for_fewer_than(1);
  return all_met;
}

}  // namespace

void add_serve(CLI::App& app, Run& run) {
  auto* command = app.add_subcommand(
      "serve", "Answer requests, JSON-RPC 2.0, a line each, from standard input: for editors, agents and dashboards");
  auto stdio = std::make_shared<bool>(false);
  command->add_flag("--stdio", *stdio, "requests from standard input, answers to standard output (the only way so far)")
      ->required();
  command->callback([stdio, &run] { run = serve; });
}

}  // namespace attnprobe::app
