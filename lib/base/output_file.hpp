// Report files that are whole or not there: written beside their place, then renamed. Links are followed where nobody
// else can have laid them.
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
  /// Tries the place at once, so that a bad path fails before the work; nothing is left there. Regular files,
  /// /dev/stdout and its like, and character devices (/dev/null) can be written; a named pipe, which might have no
  /// reader, cannot. Throws Error(usage) naming the file, Error(environment) where the disk is full.
  explicit OutputFile(std::filesystem::path path);

  /// Whether what is written cannot be taken back (a terminal, a pipe, a device): replace() is for the end alone.
  bool is_stream() const { return bool(stream_); }

  /// Puts `text` at the path, replacing what is there. May be called
  /// again as results come. Throws Error(environment) when the disk refuses; what was there stays.
  void replace(const std::string& text) const;
  /// The same with text that is written piece by piece.
  void replace(const std::function<void(std::ostream& out)>& write) const;

 private:
  std::filesystem::path path_;
  FileDescriptor stream_;  // none: a regular file
};

/// What a path means after all links, of which it follows those alone that this user or root made, in a folder of
/// theirs. The last part need not exist. Throws Error(usage).
std::filesystem::path without_links(const std::filesystem::path& path);

/// A path that is wrong is the user's (usage); a disk or a process at its limits is the machine's (environment).
ErrorKind kind_of_output_error(int error);

/// The reader of a stream is gone. A program whose SIGPIPE is not ignored ends by that signal, in silence.
class BrokenPipe : public Error {
 public:
  using Error::Error;
};

/// Writes all of it. Throws Error(environment) naming `name`, BrokenPipe where nobody reads any more.
void write_all(int descriptor, std::string_view text, const std::string& name);

}  // namespace attnprobe
