// Workers that stay between questions: starting one and loading cuDNN in it costs as much as some ten answers.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "cudnn/library_info.hpp"
#include "gpu/target.hpp"
#include "worker/client.hpp"

namespace attnprobe::worker {

/// A worker that has loaded a cuDNN and opened a GPU.
struct OpenWorker {
  std::unique_ptr<Client> client;  ///< null: there is none
  cudnn::LibraryInfo library;
};

/// May be used by several threads. What waits in it is ended with it.
class Pool {
 public:
  /// Of which GPUs workers are kept: one that has opened a real GPU holds half a gigabyte there.
  enum class Keeps { all, simulated };

  /// At most that many wait at a time; the ones that waited longest make room. Half of them may have opened a real GPU.
  explicit Pool(size_t most, Keeps keeps = Keeps::all) : most_(most), keeps_(keeps) {}
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// The worker that was last given for that cuDNN and GPU, obeying that time limit and stop from now on. A cuDNN whose
  /// file was written since is another one; one that ended while it waited is passed over.
  OpenWorker take(const std::string& cudnn_path, const gpu::Target& target, Client::Seconds timeout,
                  const std::atomic<bool>* stop);
  /// Keeps it, which is idle, or ends it.
  void give(const std::string& cudnn_path, const gpu::Target& target, OpenWorker worker);

 private:
  struct Waiting {
    std::string key;
    gpu::Kind kind;
    OpenWorker worker;
  };

  bool is_kept(const gpu::Target& target) const { return keeps_ == Keeps::all || target.kind == gpu::Kind::simulated; }
  size_t waiting_for_gpus() const;

  size_t most_;
  Keeps keeps_;
  std::mutex mutex_;
  std::deque<Waiting> waiting_;
};

}  // namespace attnprobe::worker
