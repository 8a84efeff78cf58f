// The private folder for a traced program's logs.
#pragma once

#include <filesystem>
#include <string>

#include "trace/growing_log.hpp"

namespace attnprobe::trace {

class LogFolder {
 public:
  /// Creates a new folder only for this user (0700). Uses `keep` if not empty. It must not exist, or be an empty folder
  /// of this user in which no other user can create links. Otherwise the folder is in $TMPDIR, /tmp, $XDG_RUNTIME_DIR
  /// or /dev/shm: the first whose files can release blocks piece by piece. Removes the folders of this user's killed
  /// traces. Throws Error(usage) for an unusable `keep`, Error(environment) if no location works.
  explicit LogFolder(const std::filesystem::path& keep);
  /// Removes everything except kept files.
  ~LogFolder();
  LogFolder(const LogFolder&) = delete;
  LogFolder& operator=(const LogFolder&) = delete;

  /// Leaves the removal to another process.
  void leave_behind() { is_left_behind_ = true; }

  const std::filesystem::path& path() const { return path_; }
  bool is_kept() const { return is_kept_; }
  /// What to do with read data. Also `keep` if no folder can release blocks; then `problem` is set.
  AfterReading after_reading() const { return after_; }
  const std::string& problem() const { return problem_; }

  /// cuDNN's log of each process; cuDNN replaces "%i" with the process id.
  std::filesystem::path cudnn_pattern() const { return path_ / "cudnn-%i.log"; }
  /// cudnn-frontend's log, one name for all processes: the observer renames it as soon as it appears.
  std::filesystem::path frontend_file() const { return path_ / "frontend.log"; }

 private:
  void make_private();

  std::filesystem::path path_;
  bool is_kept_ = false, is_left_behind_ = false;
  AfterReading after_ = AfterReading::punch;
  std::string problem_;
};

/// Removes a trace's folder and its contents; never throws.
void remove_log_folder(const std::filesystem::path& folder) noexcept;

}  // namespace attnprobe::trace
