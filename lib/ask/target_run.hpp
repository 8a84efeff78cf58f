// All questions on one target with one cuDNN, in one worker process, which is started on demand and restarted after a
// loss. Not installed.
#pragma once

#include <future>
#include <memory>
#include <mutex>

#include "ask/plan.hpp"
#include "worker/client.hpp"
#include "worker/run_plans.hpp"

namespace attnprobe::asking {

/// One worker's share of a target that other workers ask too.
struct TargetShare {
  worker::GpuTurns* gpu = nullptr;  ///< none: no other worker runs plans on it
  size_t builders = 1;              ///< processes that may build plans of one question
};

class TargetRun {
 public:
  /// All arguments must outlive it; `cudnn` is a path.
  TargetRun(const gpu::Target& target, const std::string& cudnn, const PlanOptions& options, const Session& session,
            const TargetShare& share);
  /// Returns its worker to the session's pool, if there is one.
  ~TargetRun();
  TargetRun(const TargetRun&) = delete;
  TargetRun& operator=(const TargetRun&) = delete;

  /// Returns a judged answer, without the version rules. Worker failures never throw. `next`: the following question,
  /// so that cuDNN can start on it while this answer is processed.
  Answer run(const Question& question, const Question* next = nullptr);

  /// Prepares running plans on this kind of GPU, which takes seconds: a separate process compiles attnprobe's kernels
  /// into the cache. Ignores errors, because running plans reports them again.
  void prepare_gpu();

  /// The cuDNN that answers; none before the first answer.
  const std::optional<cudnn::LibraryInfo>& library() const { return library_; }

 private:
  void open();
  std::unique_ptr<worker::Client> start(bool* waited = nullptr);
  std::unique_ptr<worker::Client> start_under(const std::vector<std::string>& under) const;
  void know_library();
  std::string command(const std::string& question);
  bool stopped() const { return session_.is_stopped(); }
  build::BuiltGraph build_graph(const Question& question) const;
  probe::WalkFindings ask(const graph::OpGraph& graph, const probe::WalkOptions& options);
  std::string announcement();
  std::string name_finished(const Answer& result) const;
  void find_out(Answer& result);
  void walk(Answer& result);
  void keep_to_constraints(Answer& result, bool has_run) const;
  void build_plans(Answer& result, const probe::WalkOptions& options);
  worker::PlanWork plan_work(Answer& result);
  void run_plans(Answer& result);
  void search_further(Answer& result);

  const gpu::Target& target_;
  const std::string& cudnn_;
  const PlanOptions& options_;
  const Session& session_;
  TargetShare share_;
  probe::WalkOptions walk_;
  std::future<std::string> naming_;
  std::string cudnn_word_;  // cuDNN's name on a command line; until the library is known, its path
  bool is_named_ = false;
  bool runs_ = false, runs_first_ = false;
  const Question* next_ = nullptr;
  std::string announced_key_;   // cache key of the walk that the worker does next
  WalkCache* cache_ = nullptr;  // none if answers do not come only from cuDNN
  std::unique_ptr<worker::Client> client_;
  bool has_waited_ = false;  // client_ comes from the pool and has not been used since
  std::mutex mutex_;
  std::optional<cudnn::LibraryInfo> library_;
};

}  // namespace attnprobe::asking
