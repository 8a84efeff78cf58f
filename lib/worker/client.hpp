// The parent's side of a worker: requests with a time limit, and what is left when the worker dies.
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

/// Says that this program has the `worker` command, whatever it is called: `attnprobe` does so when it starts.
void serve_in_this_program();

/// The program whose `worker` command is run: ATTNPROBE_PROGRAM; this program if it serves; `given` if it is there; else
/// attnprobe beside this program or library, in ../bin of them, or on PATH. Throws Error(environment) where none is.
std::string worker_program(const std::string& given = "");

/// A worker that died or hung instead of answering.
class WorkerLost : public std::runtime_error {
 public:
  WorkerLost(bool timed_out, ProcessEnd end, probe::Stage stage, std::string output,
             std::optional<probe::WalkFindings> findings);
  /// Not by what it was asked: nothing is known of that.
  bool is_from_outside() const { return !timed_out && end.is_from_outside(); }
  /// "hung", "died", "was killed from outside".
  const char* how() const;

  bool timed_out;
  ProcessEnd end;                               ///< after a timeout: the SIGKILL that ended it
  probe::Stage stage;                           ///< what it was doing
  std::string output;                           ///< the last of its stderr
  std::optional<probe::WalkFindings> findings;  ///< of a walk, so far
};

/// A worker that was killed since a stop was asked for: nothing is known of what it was asked.
class Stopped : public std::runtime_error {
 public:
  Stopped() : std::runtime_error("stopped") {}
};

class Client {
 public:
  using Seconds = std::chrono::duration<double>;

  /// Starts a worker process; for a device only that GPU is visible in it, for a simulated target none.
  /// `program` as for worker_program().
  /// `stop`, if not nullptr, outlives it; once it is set, a worker that does not answer soon is killed.
  /// `under`: a command that gets the worker's command line as its last arguments and starts it.
  Client(const gpu::Target& target, Seconds timeout, const std::string& program = "",
         const std::atomic<bool>* stop = nullptr, const std::vector<std::string>& under = {});
  /// A worker that sees the machine as it is.
  explicit Client(Seconds timeout, const std::string& program = "");

  /// From now on that time limit and stop, as in the constructor.
  void obey(Seconds timeout, const std::atomic<bool>* stop);
  /// Whether its process is still there.
  bool is_there() const { return process_->is_there(); }
  /// Ends it without waiting until it is gone, which its destructor does.
  void kill() { process_->kill(); }

  /// Each throws WorkerLost, Stopped, or Error as the worker reports it.
  gpu::DriverInfo inspect_driver();
  cudnn::LibraryInfo open(const std::string& cudnn_path, const gpu::Target& target);
  /// `next`, if given, is called while the worker is busy and tells what the next walk will be,
  /// the walk_request() of it or "": that is begun before this
  /// one's answer is read. Any other request waits for its end.
  probe::WalkFindings walk(const graph::OpGraph& graph, const probe::WalkOptions& options,
                           const std::function<std::string()>& next = {});
  static std::string walk_request(const graph::OpGraph& graph, const probe::WalkOptions& options);
  /// Builds the plan of one engine config, and keeps it in the worker where it will be run.
  probe::PlanFindings build(const Json& graph, int64_t engine, const probe::Knobs& knobs, bool keep);
  /// Builds it if need be, executes, verifies and times it.
  run::Outcome run(const Json& graph, int64_t engine, const probe::Knobs& knobs, const run::RunOptions& options);
  /// Makes ready what the first run would have to: seconds that need no GPU.
  void prepare();
  /// Gives the GPU's memory back, but for the plans that it built.
  void rest();
  /// Ends it in order, and whatever it was started under, and waits for that. Nothing can be asked afterwards. Throws
  /// WorkerLost where that does not end in time or fails, Stopped.
  void end();
  std::string device_properties();

 private:
  Json request(const Json& request, const probe::Stage& stage);
  Message ask(const std::string& request, const probe::Stage& stage, const std::function<std::string()>& next);
  Message answer(const probe::Stage& stage);

  Seconds timeout_;
  const std::atomic<bool>* stop_ = nullptr;
  std::string announced_;  // the request that was sent ahead
  std::unique_ptr<Process> process_;
};

}  // namespace attnprobe::worker
