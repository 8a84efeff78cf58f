// cudnn-frontend's log: which of its graphs it refused by itself, so that cuDNN was never asked.
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

/// Takes the whole lines of the logs of several processes. At level 1 cudnn-frontend writes each graph as JSON before it
/// checks it, and the check that fails behind it (seen in 1.23 to 1.32).
class FrontendLogReader {
 public:
  /// `file` tells the logs apart: lines of one are in order.
  void line(size_t file, std::string_view line);

  /// Only what cudnn-frontend's own sentences refuse: behind others cuDNN may have been asked.
  std::vector<FrontendRefusal> refusals() const;
  /// What its sentences come to, refusals of its own or not.
  explain::TextFindings finish() { return finder_.finish(); }

  /// Different refusals that are kept.
  static constexpr size_t most_refusals = 100;

 private:
  std::map<size_t, std::string> graphs_;                             // by file: the last, while nothing was refused
  std::map<std::pair<std::string, std::string>, int64_t> refusals_;  // by graph and line
  explain::MessageFinder finder_;
};

}  // namespace attnprobe::trace
