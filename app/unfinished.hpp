// Findings of a run of plans, kept next to its report until the report is complete, so that --resume can continue with
// them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "ask/walk_cache.hpp"

namespace attnprobe::app {

class Unfinished {
 public:
  /// For the report `output`, in output + ".unfinished". Without `resume`, an earlier run's findings are deleted.
  /// Throws Error(usage) if the file exists but is something else.
  Unfinished(const std::string& output, bool resume);
  ~Unfinished() = default;
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

  asking::WalkCache* findings() { return cache_.get(); }
  /// The report is complete: nothing is left to resume.
  void remove();

 private:
  std::filesystem::path file_;
  std::unique_ptr<asking::WalkCache> cache_;
};

}  // namespace attnprobe::app
