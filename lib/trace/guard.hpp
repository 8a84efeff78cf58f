// A small helper process of a trace. It detects whether a signal was sent to the whole process group, and cleans up if
// the trace is killed.
#pragma once

#include <sys/types.h>

#include <filesystem>

#include "base/file_descriptor.hpp"

namespace attnprobe::trace {

class Guard {
 public:
  /// Starts the guard in this process's group. Call it before starting threads. Throws Error(environment).
  explicit Guard(const std::filesystem::path& folder, bool keeps_folder);
  /// Ends the guard, unless leave_behind() was called.
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  /// Sets the traced program. If the trace dies, the guard releases the disk blocks of the program's logs until the
  /// program and all other writers have ended. Then it removes the folder.
  void watch(pid_t program) const;
  /// Whether the guard received the signal since the last call: in this case it was sent to the group, and the program
  /// already received it. Takes 5 ms, or up to 1 s if the guard does not answer.
  bool got(int signal) const;
  /// For a trace that ends while programs still write logs: the guard continues as described above.
  void leave_behind();

 private:
  pid_t pid_ = -1;
  FileDescriptor to_guard_, from_guard_;
};

}  // namespace attnprobe::trace
