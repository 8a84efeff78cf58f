// What cuDNN answered before, kept on disk: an answer depends on the graph, the GPU's properties, cuDNN's build and the
// options of the walk alone, and those name it.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cudnn/library_info.hpp"
#include "gpu/target.hpp"
#include "graph/op_graph.hpp"
#include "probe/findings.hpp"
#include "probe/walk_options.hpp"

namespace attnprobe::campaign {

struct CacheStatistics {
  std::string file;
  int64_t answers = 0, libraries = 0;
  int64_t bytes = 0;  ///< on disk
};
ATTNPROBE_JSON(CacheStatistics, file, answers, libraries, bytes)

/// An SQLite file that any number of processes and threads share. A cache only saves time: where it is locked, full,
/// read-only or on a disk that fails, nothing is found in it and nothing is stored from there on, and `warn` is told so
/// once.
class WalkCache {
 public:
  using Warn = std::function<void(const std::string& message)>;
  /// Each write of another process is a few milliseconds.
  static constexpr std::chrono::milliseconds usual_patience{5'000};

  /// Makes the file and its folder if they are not there. Throws Error(environment) naming it where it is damaged or
  /// another program's.
  explicit WalkCache(const std::filesystem::path& file, Warn warn = {},
                     std::chrono::milliseconds patience = usual_patience);
  ~WalkCache();
  WalkCache(const WalkCache&) = delete;
  WalkCache& operator=(const WalkCache&) = delete;

  /// The name of an answer. Of cuDNN it holds every file's name, size, time of modification and first and last bytes; of
  /// this program its own, since another build may read cuDNN's words otherwise.
  std::string key(const graph::OpGraph& graph, const gpu::Target& target, const std::string& cudnn,
                  const probe::WalkOptions& options);

  std::optional<probe::WalkFindings> find(const std::string& key);
  void store(const std::string& key, const probe::WalkFindings& findings);

  /// The same of one plan; `about` is the key() of the graph, the target and the cuDNN without walk options.
  std::optional<probe::PlanFindings> find_plan(const std::string& about, int64_t engine, const probe::Knobs& knobs);
  void store_plan(const std::string& about, int64_t engine, const probe::Knobs& knobs, const probe::PlanFindings& plan);

  /// What a worker told of the cuDNN at that path, as long as its files are the same.
  std::optional<cudnn::LibraryInfo> library(const std::string& cudnn);
  void store_library(const std::string& cudnn, const cudnn::LibraryInfo& library);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Of the cache in that file, nothing of which is written; zeros where there is none. Throws Error(environment) naming
/// the file where it cannot be read, and where it is no cache.
CacheStatistics cache_statistics(const std::filesystem::path& file);

/// Forgets every answer; makes no file. Throws as cache_statistics().
void clear_cache(const std::filesystem::path& file);

/// attnprobe/answers.sqlite in user_cache_folder(); "" where that is nowhere, or where others may have written the file
/// (base/trust.hpp).
std::filesystem::path default_cache_file();

}  // namespace attnprobe::campaign
