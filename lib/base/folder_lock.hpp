// Allows only one process at a time in a folder of results.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "base/file_descriptor.hpp"

namespace attnprobe {

/// Holds the folder until this object is destroyed or the process ends in any way. The kernel holds the lock (flock),
/// so a leftover file locks nothing; the file only names the holder.
class FolderLock {
 public:
  /// Throws Error(usage) if another process holds the folder for longer than `patience`, with its process id, host and
  /// start time. Also throws if the folder is not writable. `option` names the folder on the command line.
  /// Precondition: the folder exists.
  explicit FolderLock(const std::filesystem::path& folder, const std::string& option = "--out",
                      std::chrono::milliseconds patience = {});
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  /// Why the file system does not support locks; "" if it does.
  const std::string& problem() const { return problem_; }

 private:
  std::filesystem::path file_;
  FileDescriptor descriptor_;
  std::string problem_;
};

}  // namespace attnprobe
