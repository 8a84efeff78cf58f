// Reads cudnn-frontend's log for graphs that cudnn-frontend refused before it asked cuDNN.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attention/spec.hpp"
#include "explain/message_finder.hpp"

namespace attnprobe::trace {

/// An attention that cudnn-frontend refused before it asked cuDNN.
struct FrontendRefusal {
  attention::AttentionSpec spec;
  std::string message;  ///< cudnn-frontend's line, "[cudnn_frontend] ERROR: …"
  std::string meaning;  ///< in plain words
  int64_t times = 0;
};

/// Accepts complete lines from the logs of several processes. At level 1, cudnn-frontend writes each graph as JSON
/// before its checks, and then the failing check (seen in 1.23 to 1.32).
class FrontendLogReader {
 public:
  /// `file` identifies the log: lines of one log are in order.
  void line(size_t file, std::string_view line);

  /// Includes only cudnn-frontend's own refusals, because for others cuDNN may have been asked.
  std::vector<FrontendRefusal> refusals() const;
  /// The answer from all of its messages, refusals or not.
  explain::TextFindings finish() { return finder_.finish(); }

  /// The maximum number of different refusals.
  static constexpr size_t most_refusals = 100;

 private:
  std::map<size_t, std::string> graphs_;                             // by file: the last graph that was not refused yet
  std::map<std::pair<std::string, std::string>, int64_t> refusals_;  // by graph and line
  explain::MessageFinder finder_;
};

}  // namespace attnprobe::trace
