#include "trace_bill.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "ask.hpp"
#include "ask/chosen_libraries.hpp"
#include "base/error.hpp"
#include "gpu/catalogue.hpp"
#include "studies/plans/logged_workload.hpp"
#include "worker/pool.hpp"

namespace attnprobe::app {
namespace {

constexpr std::chrono::seconds most_time{20};

// Sets the flag when time runs out or the user stops the command.
class TimeLimit {
 public:
  TimeLimit() : watch_([this] { wait(); }) {}
  ~TimeLimit() {
    is_done_ = true;
    watch_.join();
  }
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  const std::atomic<bool>* flag() const { return &over_; }

 private:
  void wait() {
    constexpr std::chrono::milliseconds between_looks{20};
    const auto end = std::chrono::steady_clock::now() + most_time;
    while (!is_done_ && !over_) {
      if (*stopped_ || std::chrono::steady_clock::now() > end) over_ = true;
      std::this_thread::sleep_for(between_looks);
    }
  }

  const std::atomic<bool>* stopped_ = stop_gently();
  std::atomic<bool> over_ = false, is_done_ = false;
  std::thread watch_;
};

// The file that the program had loaded, otherwise the version in its log. Throws Error(environment).
std::string cudnn_of(const trace::TraceFindings& findings) {
  for (const auto& process : findings.processes)
    for (const auto& library : process.libraries)
      if (library.name.starts_with("libcudnn.so")) return library.path;
  if (findings.replay.history.versions.size() != 1)
    throw Error(ErrorKind::environment, "several cuDNN versions ran, or none was recorded");
  return findings.replay.history.versions.begin()->text();
}

plans::WorkloadBill bill_of(const trace::TraceFindings& findings, const plans::Workload& workload) {
  const std::string gpus = replay::gpus_of(findings.replay);
  if (gpus.empty() || gpus.find(',') != std::string::npos)
    throw Error(ErrorKind::environment, "the log does not name one known GPU");
  const auto targets = gpu::simulated_targets(gpus);
  const TimeLimit limit;
  asking::PlanOptions how;
  asking::Session session;
  const auto cache = asking::usual_cache({});
  worker::Pool pool(2 * asking::jobs_of(how));
  session.cache = cache.get();
  session.pool = &pool;
  session.stop = limit.flag();
  const auto libraries = asking::choose_libraries({cudnn_of(findings)}, targets, how, session);
  auto bills = plans::bills_of({workload}, targets.front(), {{}, libraries.front().path, how}, session, false);
  if (!bills.front().is_whole)
    throw Error(ErrorKind::environment,
                fmt::format("it takes more than {} s; `attnprobe plans` does it with the JSON report or the log",
                            most_time.count()));
  return std::move(bills.front());
}

}  // namespace

void add_bill(trace::Trace& trace) {
  constexpr size_t fewest = 5;
  if (trace.end.signalled) return;
  const plans::Workload workload = plans::workload_of(trace.findings.replay);
  if (!workload.built || workload.shapes.size() < fewest) return;
  if (isatty(STDERR_FILENO) == 1)
    spdlog::info("counting the kernels of {} shapes, up to {} s", workload.shapes.size(), most_time.count());
  try {
    trace.bill = bill_of(trace.findings, workload);
  } catch (const std::exception& e) {
    trace.no_bill = e.what();
  }
}

}  // namespace attnprobe::app
