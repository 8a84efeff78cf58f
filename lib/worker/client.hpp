// The parent's side of a worker: requests with a time limit, and the notes of a dead worker.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "cudnn/library_info.hpp"
#include "gpu/driver.hpp"
#include "gpu/target.hpp"
#include "graph/op_graph.hpp"
#include "probe/findings.hpp"
#include "probe/walk_options.hpp"
#include "run/outcome.hpp"
#include "run/run_options.hpp"
#include "worker/process.hpp"

namespace attnprobe::worker {

/// Declares that this program has the `worker` command, under any file name. `attnprobe` calls this at startup.
void serve_in_this_program();

/// The program whose `worker` command to run: ATTNPROBE_PROGRAM, this program if it declared the command, or `given` if
/// it exists. Otherwise attnprobe next to this program or library, in their ../bin, or on PATH. Throws
/// Error(environment) if none is found.
std::string worker_program(const std::string& given = "");

/// A worker died or hung instead of answering.
class WorkerLost : public std::runtime_error {
 public:
  WorkerLost(bool timed_out, ProcessEnd end, probe::Stage stage, std::string output,
             std::optional<probe::WalkFindings> findings);
  /// Whether the question is not the cause, so that nothing is known about it.
  bool is_from_outside() const { return !timed_out && end.is_from_outside(); }
  /// "hung", "died", "was killed from outside".
  const char* how() const;

  bool timed_out;
  ProcessEnd end;                               ///< after a timeout: the SIGKILL that ended it
  probe::Stage stage;                           ///< step in progress
  std::string output;                           ///< the end of its stderr
  std::optional<probe::WalkFindings> findings;  ///< findings of a walk, so far
};

/// A worker was killed after a stop request, so its question remains open.
class Stopped : public std::runtime_error {
 public:
  Stopped() : std::runtime_error("stopped") {}
};

class Client {
 public:
  using Seconds = std::chrono::duration<double>;

  /// Starts a worker process. For a device, the worker sees only that GPU; for a simulated target, none. `program` as
  /// for worker_program(). `stop`, if not nullptr, must outlive the client; once it is set, a worker that does not
  /// answer soon is killed. `under`: a command that starts the worker, given the worker's command line as last
  /// arguments.
  Client(const gpu::Target& target, Seconds timeout, const std::string& program = "",
         const std::atomic<bool>* stop = nullptr, const std::vector<std::string>& under = {});
  /// A worker with the machine's own environment.
  explicit Client(Seconds timeout, const std::string& program = "");

  /// Sets a new time limit and `stop`, as in the constructor.
  void obey(Seconds timeout, const std::atomic<bool>* stop);
  /// Whether the worker's process is still running.
  bool is_there() const { return process_->is_there(); }
  /// Kills the worker without waiting; the destructor waits.
  void kill() { process_->kill(); }

  /// Each throws WorkerLost, Stopped, or the Error that the worker reports.
  gpu::DriverInfo inspect_driver();
  cudnn::LibraryInfo open(const std::string& cudnn_path, const gpu::Target& target);
  /// `next`, if given, is called while the worker is busy and returns the walk_request() of the next walk, or "". The
  /// worker begins that walk before this answer is read. Any other request waits until that walk ends.
  probe::WalkFindings walk(const graph::OpGraph& graph, const probe::WalkOptions& options,
                           const std::function<std::string()>& next = {});
  static std::string walk_request(const graph::OpGraph& graph, const probe::WalkOptions& options);
  /// Builds the plan of one engine config. The worker keeps the plan if it will run it.
  probe::PlanFindings build(const Json& graph, int64_t engine, const probe::Knobs& knobs, bool keep);
  /// Builds the plan if necessary, executes, verifies and times it.
  run::Outcome run(const Json& graph, int64_t engine, const probe::Knobs& knobs, const run::RunOptions& options);
  /// Prepares the first run: seconds of work that need no GPU.
  void prepare();
  /// Frees the GPU's memory, except for the plans.
  void rest();
  /// Ends the worker cleanly, with the command that it runs under, and waits. The client cannot be used afterwards.
  /// Throws WorkerLost or Stopped.
  void end();
  std::string device_properties();

 private:
  Json request(const Json& request, const probe::Stage& stage);
  Message ask(const std::string& request, const probe::Stage& stage, const std::function<std::string()>& next);
  Message answer(const probe::Stage& stage);

  Seconds timeout_;
  const std::atomic<bool>* stop_ = nullptr;
  std::string announced_;  // the request sent ahead
  std::unique_ptr<Process> process_;
};

/// The machine's CUDA driver and GPUs, queried in a separate process. If the driver crashes that process, `problem`
/// says so. `program` as for worker_program().
gpu::DriverInfo inspect_driver(double timeout_seconds, const std::string& program = "");

}  // namespace attnprobe::worker
