// cuDNN's earlier answers, kept on disk. The key has everything that an answer depends on: the graph, the GPU's
// properties, cuDNN's build and the options of the walk.
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

/// An SQLite file that any number of processes and threads share. A cache only saves time. If the file is locked, full,
/// read-only or on a failing disk, the cache calls `warn` once and is unused from then on.
class WalkCache {
 public:
  using Warn = std::function<void(const std::string& message)>;
  /// Long enough: another process's write takes a few milliseconds.
  static constexpr std::chrono::milliseconds usual_patience{5'000};

  /// Creates the file and its folder if they are missing. Throws Error(environment) naming the file if it is damaged or
  /// belongs to another program.
  explicit WalkCache(const std::filesystem::path& file, Warn warn = {},
                     std::chrono::milliseconds patience = usual_patience);
  ~WalkCache();
  WalkCache(const WalkCache&) = delete;
  WalkCache& operator=(const WalkCache&) = delete;

  /// The key of an answer. It contains the name, size, modification time and first and last bytes of every cuDNN file.
  /// It has the same for this program, because another build may interpret cuDNN's messages differently.
  std::string key(const graph::OpGraph& graph, const gpu::Target& target, const std::string& cudnn,
                  const probe::WalkOptions& options);

  std::optional<probe::WalkFindings> find(const std::string& key);
  void store(const std::string& key, const probe::WalkFindings& findings);

  /// The same for one plan; `about` is the key() of the graph, the target and the cuDNN without walk options.
  std::optional<probe::PlanFindings> find_plan(const std::string& about, int64_t engine, const probe::Knobs& knobs);
  void store_plan(const std::string& about, int64_t engine, const probe::Knobs& knobs, const probe::PlanFindings& plan);

  /// A worker's report about the cuDNN at that path; valid while its files are unchanged.
  std::optional<cudnn::LibraryInfo> library(const std::string& cudnn);
  void store_library(const std::string& cudnn, const cudnn::LibraryInfo& library);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads the cache in that file and writes nothing; zeros if the file is missing. Throws Error(environment) naming the
/// file if it is unreadable or not a cache.
CacheStatistics cache_statistics(const std::filesystem::path& file);

/// Deletes every answer; creates no file. Throws like cache_statistics().
void clear_cache(const std::filesystem::path& file);

/// attnprobe/answers.sqlite in user_cache_folder(). "" if that folder is missing, or if other users may have written
/// the file (base/trust.hpp).
std::filesystem::path default_cache_file();

}  // namespace attnprobe::asking
