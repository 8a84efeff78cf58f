// Log lines that are not cuDNN's entries: output of the program itself, and pasted reasons. Not installed.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replay/log_history.hpp"

namespace attnprobe::replay {

/// Adds to a history cudnn-frontend's graphs, and the lines in which a program reports that it found no engine.
class TextOfOthers {
 public:
  explicit TextOfOthers(LogHistory& history) : history_(history) {}

  void take(std::string_view line, int64_t number);

  /// Lines with cuDNN's reasons but without an entry's head, each beginning at the reason.
  std::vector<std::string> take_reasons() { return std::move(reasons_); }

 private:
  void take_document(std::string_view line, int64_t number);

  LogHistory& history_;
  std::string document_;  // the beginning of a JSON document over several lines
  int64_t document_line_ = 0;
  std::set<std::pair<size_t, size_t>> graphs_;  // of cudnn-frontend, by text
  std::vector<std::string> reasons_;
};

}  // namespace attnprobe::replay
