// A log that its program is still writing: read piece by piece, and what was read is given back to the disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/file_descriptor.hpp"

namespace attnprobe::trace {

/// What becomes of the part of a file that was read.
enum class AfterReading {
  keep,
  /// A hole is punched (fallocate): the file keeps its length and loses its blocks, and the writer, who has an offset of
  /// its own, does not notice.
  punch
};

/// Whether files of that folder can be given back to the disk piece by piece. NFS 3 and some FUSE file systems cannot.
bool can_punch(const std::filesystem::path& folder);

class GrowingLog {
 public:
  /// Throws Error(environment) if it cannot be opened.
  GrowingLog(const std::filesystem::path& file, AfterReading after);

  /// What the disk may hold that is not read yet. Beyond it the oldest part is passed over, and counted.
  static constexpr int64_t most_unread = int64_t{256} << 20;
  static constexpr size_t piece = size_t{1} << 20;

  /// The next piece; "" where there is no more for now. Valid until the next call. A writer that begins its file again
  /// (cuDNN does when a program sets a log callback) is read from the beginning. A part that is passed over becomes an
  /// empty line.
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

/// Gives back all blocks of a file that nobody will read.
void give_back_all(const std::filesystem::path& file);

}  // namespace attnprobe::trace
