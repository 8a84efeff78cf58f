// cuDNN's earlier answers, kept on disk. An answer depends only on the graph, the GPU's properties, cuDNN's build and
// the options of the walk, which make up its key.
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

namespace attnprobe::asking {

struct CacheStatistics {
  std::string file;
  int64_t answers = 0, libraries = 0;
  int64_t bytes = 0;  ///< on disk
};
ATTNPROBE_JSON(CacheStatistics, file, answers, libraries, bytes)

/// An SQLite file that any number of processes and threads share. A cache only saves time. If it is locked, full,
/// read-only or on a failing disk, it finds and stores nothing from then on, and `warn` is called once.
class WalkCache {
 public:
  using Warn = std::function<void(const std::string& message)>;
  /// Each write of another process takes a few milliseconds.
  static constexpr std::chrono::milliseconds usual_patience{5'000};

  /// Creates the file and its folder if they are missing. Throws Error(environment) naming it if it is damaged or
  /// another program's.
  explicit WalkCache(const std::filesystem::path& file, Warn warn = {},
                     std::chrono::milliseconds patience = usual_patience);
  ~WalkCache();
  WalkCache(const WalkCache&) = delete;
  WalkCache& operator=(const WalkCache&) = delete;

  /// The key of an answer. For cuDNN it has every file's name, size, modification time and first and last bytes. For
  /// this program it has the same, since another build may interpret cuDNN's messages differently.
  std::string key(const graph::OpGraph& graph, const gpu::Target& target, const std::string& cudnn,
                  const probe::WalkOptions& options);

  std::optional<probe::WalkFindings> find(const std::string& key);
  void store(const std::string& key, const probe::WalkFindings& findings);

  /// The same for one plan; `about` is the key() of the graph, the target and the cuDNN without walk options.
  std::optional<probe::PlanFindings> find_plan(const std::string& about, int64_t engine, const probe::Knobs& knobs);
  void store_plan(const std::string& about, int64_t engine, const probe::Knobs& knobs, const probe::PlanFindings& plan);

  /// A worker's report about the cuDNN at that path, as long as its files are the same.
  std::optional<cudnn::LibraryInfo> library(const std::string& cudnn);
  void store_library(const std::string& cudnn, const cudnn::LibraryInfo& library);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads the cache in that file and writes nothing; zeros if it is missing. Throws Error(environment) naming the file
/// if it cannot be read or is not a cache.
CacheStatistics cache_statistics(const std::filesystem::path& file);

/// Forgets every answer; creates no file. Throws like cache_statistics().
void clear_cache(const std::filesystem::path& file);

/// attnprobe/answers.sqlite in user_cache_folder(). "" if that is missing, or if others may have written the file
/// (base/trust.hpp).
std::filesystem::path default_cache_file();

}  // namespace attnprobe::asking
