// Reads standard input line by line, with a limit on the line length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file_descriptor.hpp"

namespace attnprobe::app {

class LineReader {
 public:
  /// `wake`: a descriptor; once it is readable, waiting for lines ends.
  LineReader(uint64_t longest, int wake) : longest_(longest), wake_(wake) {}

  enum class Read { line, too_long, no_memory, end };
  /// The next line without its newline. Skips lines beyond the limit or the available memory. Throws Error(environment)
  /// if standard input cannot be read.
  Read next(std::string& line);

 private:
  bool fill();

  uint64_t longest_;
  int wake_;
  std::string buffer_ = std::string(size_t{1} << 16, '\0');
  std::string_view unread_;  // number of bytes in the buffer
};

}  // namespace attnprobe::app
