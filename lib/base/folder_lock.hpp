// One process at a time in a folder of results.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "base/file_descriptor.hpp"

namespace attnprobe {

/// Holds the folder until this object is destroyed or the process ends in any way. The lock is the kernel's (flock),
/// not the existence of the file; the file only names the holder.
class FolderLock {
 public:
  /// Throws Error(usage) if another process holds the folder for longer than `patience`, naming its process id, host
  /// and start. Also throws it if the folder cannot be written. `option` names the folder on the command line.
  /// Precondition: the folder exists.
  explicit FolderLock(const std::filesystem::path& folder, const std::string& option = "--out",
                      std::chrono::milliseconds patience = {});
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  /// The reason if the file system supports no locks; else "".
  const std::string& problem() const { return problem_; }

 private:
  std::filesystem::path file_;
  FileDescriptor descriptor_;
  std::string problem_;
};

}  // namespace attnprobe
