// A small process beside a trace that knows two things the trace cannot: whether a signal went to the whole process
// group, and what to do once the trace was killed.
#pragma once

#include <sys/types.h>

#include <filesystem>

#include "base/file_descriptor.hpp"

namespace attnprobe::trace {

class Guard {
 public:
  /// Starts it, in this process' group. Call it before there are threads. Throws Error(environment).
  explicit Guard(const std::filesystem::path& folder, bool keeps_folder);
  /// Ends it, unless leave_behind() was called.
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  /// The traced program: as long as it or one that writes a log lives, what it logs is given back to the disk if the
  /// trace is no longer there to read it; then the folder is removed.
  void watch(pid_t program) const;
  /// Whether the guard got the signal too since it was last asked: then it was sent to the group, and the program has it
  /// already. Takes 5 ms, and waits for a guard that does not answer up to 1 s.
  bool got(int signal) const;
  /// The trace ends while programs are still writing logs: the guard stays, and does as above.
  void leave_behind();

 private:
  pid_t pid_ = -1;
  FileDescriptor to_guard_, from_guard_;
};

}  // namespace attnprobe::trace
