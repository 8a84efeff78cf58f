// Report files that are complete or absent: written to a temporary file, then renamed. A link is followed only if no
// other user can have made it.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"

namespace attnprobe {

class OutputFile {
 public:
  /// Checks the path immediately, so that a bad path fails before the work starts; leaves no file behind. Accepts
  /// regular files, /dev/stdout and the like, and character devices (/dev/null). Refuses a named pipe, which might have
  /// no reader. Throws Error(usage) naming the file, and Error(environment) if the disk is full.
  explicit OutputFile(std::filesystem::path path);

  /// Whether output cannot be rewritten (a terminal, a pipe, a device). In that case, call replace() only once, at the
  /// end.
  bool is_stream() const { return bool(stream_); }

  /// Writes `text` to the path, replacing the old content. May be called again as results arrive. Throws
  /// Error(environment) if writing fails, and keeps the old content.
  void replace(const std::string& text) const;
  /// The same for text that is written piece by piece.
  void replace(const std::function<void(std::ostream& out)>& write) const;

 private:
  std::filesystem::path path_;
  FileDescriptor stream_;  // none for a regular file
};

/// Resolves all links of a path, but follows only links made by this user or root in a folder that they own. The last
/// component need not exist. Throws Error(usage).
std::filesystem::path without_links(const std::filesystem::path& path);

/// usage for a wrong path, environment for a full disk or exhausted limits.
ErrorKind kind_of_output_error(int error);

/// The reader has closed the stream. A program that does not ignore SIGPIPE is killed silently by that signal.
class BrokenPipe : public Error {
 public:
  using Error::Error;
};

/// Writes all of `text`. Throws Error(environment) naming `name`, or BrokenPipe if the reader has closed the stream.
void write_all(int descriptor, std::string_view text, const std::string& name);

}  // namespace attnprobe
