// Transformer Engine's debug lines among a program's standard error.
#pragma once

#include <string>
#include <string_view>

namespace attnprobe::trace {

/// Takes out the lines that Transformer Engine prints only since a trace asked it to (NVTE_DEBUG): the rest is what the
/// program prints by itself, byte by byte, and nothing of it waits for the end of a line.
class EngineLines {
 public:
  /// `keep_all`: the user asked for them.
  explicit EngineLines(bool keep_all) : keep_all_(keep_all) {}

  /// Of the next piece of the text, what is the program's own. The beginning of a line that may become one of
  /// Transformer Engine's is held back.
  std::string without(std::string_view piece);
  /// What was held back, at the end.
  std::string rest();

 private:
  bool keep_all_;
  bool in_own_line_ = false, in_engine_line_ = false;
  std::string held_;
};

}  // namespace attnprobe::trace
