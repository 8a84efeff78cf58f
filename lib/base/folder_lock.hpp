// One process at a time in a folder of results.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "base/file_descriptor.hpp"

namespace attnprobe {

/// Holds the folder until it is destroyed or the process ends, however that ends: the kernel's lock (flock) on a file in
/// it, not the file, says that it is taken. The file says by whom.
class FolderLock {
 public:
  /// Throws Error(usage) where another process has it for longer than `patience`, with that one's number, host and start, and
  /// where the folder cannot be written; `option` is how the command line names the folder. Precondition: the folder is there.
  explicit FolderLock(const std::filesystem::path& folder, const std::string& option = "--out",
                      std::chrono::milliseconds patience = {});
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  /// Why there is no lock, on a file system that has none; else "".
  const std::string& problem() const { return problem_; }

 private:
  std::filesystem::path file_;
  FileDescriptor descriptor_;
  std::string problem_;
};

}  // namespace attnprobe
