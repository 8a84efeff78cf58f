// For commands that ask several cuDNNs about many configs: cache, workers, and the chosen libraries.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ask/chosen_libraries.hpp"
#include "worker/pool.hpp"

namespace attnprobe::app {

struct AskedLibraries {
  std::unique_ptr<asking::WalkCache> cache;
  std::unique_ptr<worker::Pool> pool;
  std::vector<cudnn::LibraryInfo> libraries;
};

struct AskedHow {
  bool no_cache = false;
  bool fetch = false;  ///< downloads a missing cuDNN without asking the user (bring_cudnn.hpp)
};

/// The libraries for the words of --cudnn; by default the default cuDNN. The session uses cache and pool, which must
/// outlive it. Throws like asking::choose_libraries().
AskedLibraries ask_libraries(const std::vector<std::string>& words, const std::vector<gpu::Target>& targets,
                             const AskedHow& how, const asking::PlanOptions& options, asking::Session& session);

}  // namespace attnprobe::app
