// What a run of plans has found so far, kept beside its report until that is whole: --resume goes on with it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "campaign/walk_cache.hpp"

namespace attnprobe::app {

class Unfinished {
 public:
  /// Of the report `output`, in output + ".unfinished". Without `resume` what an earlier run left there is thrown away.
  /// Throws Error(usage) where the file is there and is something else.
  Unfinished(const std::string& output, bool resume);
  ~Unfinished() = default;
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

  campaign::WalkCache* findings() { return cache_.get(); }
  /// The report is whole: nothing is left to go on with.
  void remove();

 private:
  std::filesystem::path file_;
  std::unique_ptr<campaign::WalkCache> cache_;
};

}  // namespace attnprobe::app
