// Transformer Engine's debug lines in a program's standard error.
#pragma once

#include <string>
#include <string_view>

namespace attnprobe::trace {

/// Removes Transformer Engine's lines that only the trace enabled (NVTE_DEBUG). The program's own output passes
/// immediately, without waiting for the end of a line.
class EngineLines {
 public:
  /// `keep_all`: the user enabled the lines.
  explicit EngineLines(bool keep_all) : keep_all_(keep_all) {}

  /// The program's own part of the next piece. Holds back the start of a line that may be Transformer Engine's.
  std::string without(std::string_view piece);
  /// The held-back text, at the end.
  std::string rest();

 private:
  bool keep_all_;
  bool in_own_line_ = false, in_engine_line_ = false;
  std::string held_;
};

}  // namespace attnprobe::trace
