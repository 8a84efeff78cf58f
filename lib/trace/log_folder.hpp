// The private folder that a traced program's logs go to.
#pragma once

#include <filesystem>
#include <string>

#include "trace/growing_log.hpp"

namespace attnprobe::trace {

class LogFolder {
 public:
  /// A new folder for this user alone (0700): `keep` where it is not empty, a folder that is not there yet, or an empty one of this user's in which nobody else can put links;
  /// else one in $TMPDIR, /tmp, $XDG_RUNTIME_DIR or /dev/shm, the first whose files can be given back piece by piece.
  /// Folders that traces of this user left behind when they were killed are removed. Throws Error(usage) for a `keep`
  /// that cannot be had, Error(environment) where there is no place at all.
  explicit LogFolder(const std::filesystem::path& keep);
  /// Removes what is not to be kept.
  ~LogFolder();
  LogFolder(const LogFolder&) = delete;
  LogFolder& operator=(const LogFolder&) = delete;

  /// Somebody else removes it.
  void leave_behind() { is_left_behind_ = true; }

  const std::filesystem::path& path() const { return path_; }
  bool is_kept() const { return is_kept_; }
  /// What to do with what was read. `keep` too where no folder's files can be given back; `problem` says so.
  AfterReading after_reading() const { return after_; }
  const std::string& problem() const { return problem_; }

  /// cuDNN's log of each process; "%i" is cuDNN's word for the process' id.
  std::filesystem::path cudnn_pattern() const { return path_ / "cudnn-%i.log"; }
  /// cudnn-frontend's, one name for all processes: whoever finds it there renames it.
  std::filesystem::path frontend_file() const { return path_ / "frontend.log"; }

 private:
  void make_private();

  std::filesystem::path path_;
  bool is_kept_ = false, is_left_behind_ = false;
  AfterReading after_ = AfterReading::punch;
  std::string problem_;
};

/// Removes a trace's folder and what is in it; never throws.
void remove_log_folder(const std::filesystem::path& folder) noexcept;

}  // namespace attnprobe::trace
