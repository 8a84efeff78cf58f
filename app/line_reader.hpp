// Standard input line by line, of which none may be longer than allowed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file_descriptor.hpp"

namespace attnprobe::app {

class LineReader {
 public:
  /// `wake`: a descriptor; once it can be read, no further line is waited for.
  LineReader(uint64_t longest, int wake) : longest_(longest), wake_(wake) {}

  enum class Read { line, too_long, no_memory, end };
  /// Without its newline. What is too long, or more than there is memory for, is passed over and not kept. Throws
  /// Error(environment) where standard input cannot be read.
  Read next(std::string& line);

 private:
  bool fill();

  uint64_t longest_;
  int wake_;
  std::string buffer_ = std::string(size_t{1} << 16, '\0');
  std::string_view unread_;  // of the buffer
};

}  // namespace attnprobe::app
