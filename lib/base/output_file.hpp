// Report files that are whole or not there: written beside their place, then renamed. Links are followed.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>

namespace attnprobe {

class OutputFile {
 public:
  /// Opens the temporary file at once, so that a bad path fails before the work. Throws Error(usage).
  explicit OutputFile(std::filesystem::path path);
  /// Removes the temporary file if nothing was put in place of it.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Puts `text` at the path, replacing what is there. May be called
  /// again as results come. Throws Error(usage) when the disk refuses.
  void replace(const std::string& text);
  /// The same with text that is written piece by piece.
  void replace(const std::function<void(std::ostream& out)>& write);

 private:
  std::filesystem::path path_, temporary_;  // no temporary: path_ is a device or pipe, written as it is
};

}  // namespace attnprobe
