// Keeps workers between questions: starting a worker and loading cuDNN takes as long as about ten answers.
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
  std::unique_ptr<Client> client;  ///< null: none
  cudnn::LibraryInfo library;
};

/// Thread-safe. Its destructor ends the idle workers.
class Pool {
 public:
  /// The GPUs whose workers are kept: a worker on a real GPU uses half a gigabyte of its memory.
  enum class Keeps { all, simulated };

  /// At most that many workers are idle; the longest idle workers are ended first. At most half of them are on a real
  /// GPU.
  explicit Pool(size_t most, Keeps keeps = Keeps::all) : most_(most), keeps_(keeps) {}
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// The last used worker for that cuDNN and GPU, with this time limit and `stop`. A changed cuDNN file counts as
  /// another cuDNN. Skips workers that ended while idle.
  OpenWorker take(const std::string& cudnn_path, const gpu::Target& target, Client::Seconds timeout,
                  const std::atomic<bool>* stop);
  /// Keeps an idle worker, or ends it.
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
