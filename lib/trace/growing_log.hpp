// Reads a log piece by piece while its program writes it, and frees the disk blocks it has read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/file_descriptor.hpp"

namespace attnprobe::trace {

/// What to do with the part of a file already read.
enum class AfterReading {
  keep,
  /// Punches a hole (fallocate): the file keeps its length but loses its blocks. The writer keeps its own offset, so it
  /// is not affected.
  punch
};

/// Whether files in that folder can release disk blocks piece by piece. They cannot on NFS 3 and some FUSE file
/// systems.
bool can_punch(const std::filesystem::path& folder);

class GrowingLog {
 public:
  /// Throws Error(environment) if the file cannot be opened.
  GrowingLog(const std::filesystem::path& file, AfterReading after);

  /// The limit on unread data on disk. Beyond it, the oldest part is skipped and counted.
  static constexpr int64_t most_unread = int64_t{256} << 20;
  static constexpr size_t piece = size_t{1} << 20;

  /// The next piece; "" if there is none yet. Valid until the next call. If the writer restarts the file (cuDNN does
  /// when a program sets a log callback), reading restarts too. A skipped part becomes an empty line.
  std::string_view read();

  int64_t bytes_read() const { return bytes_read_; }
  int64_t bytes_passed_over() const { return passed_over_; }

 private:
  void pass_over(int64_t size);
  void give_back(bool all);

  FileDescriptor file_;
  AfterReading after_;
  int64_t offset_ = 0, given_back_ = 0, bytes_read_ = 0, passed_over_ = 0;
  std::string buffer_;
};

/// Releases all blocks of a file that will not be read.
void give_back_all(const std::filesystem::path& file);

}  // namespace attnprobe::trace
