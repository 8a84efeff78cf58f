// A small helper process of a trace. It tells whether a signal went to the whole process group, and it cleans up if the
// trace is killed.
#pragma once

#include <sys/types.h>

#include <filesystem>

#include "base/file_descriptor.hpp"

namespace attnprobe::trace {

class Guard {
 public:
  /// Starts it in this process's group. Call it before there are threads. Throws Error(environment).
  explicit Guard(const std::filesystem::path& folder, bool keeps_folder);
  /// Ends it, unless leave_behind() was called.
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  /// The traced program. If the trace dies, the guard releases the disk blocks of its logs as long as the program, or
  /// another writer, lives. Then it removes the folder.
  void watch(pid_t program) const;
  /// Whether the guard received the signal since the last call: then it was sent to the group, and the program has it
  /// already. Takes 5 ms; waits up to 1 s for a guard that does not answer.
  bool got(int signal) const;
  /// The trace ends while programs still write logs: the guard stays and does as described above.
  void leave_behind();

 private:
  pid_t pid_ = -1;
  FileDescriptor to_guard_, from_guard_;
};

}  // namespace attnprobe::trace
