// cuDNN's log file, taken apart as it is read: needs no cuDNN, and its memory does not grow with the file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/version.hpp"

namespace attnprobe::log {

/// One entry of a log file:
///
///   I! CuDNN (v91900 56) function cudnnBackendFinalize() called:
///   i!     status: type=cudnnStatus_t; val=CUDNN_STATUS_SUCCESS (0);
///   i! Time: 2026-11-21T06:54:53.327163 (0d+0h+0m+0s since start)
///   i! Process=570; Thread=570; GPU=NULL; Handle=NULL; StreamId=NULL.
struct LogEntry {
  char severity = 'I';             ///< I, W or E
  CudnnVersion version;            ///< as cudnnGetVersion: 91900
  std::string function;            ///< "cudnnBackendFinalize()"
  std::vector<std::string> lines;  ///< between head and "Time:", without the marker "i! ", indentation kept
  std::string time;                ///< "2026-11-21T06:54:53.327163"; "" where the end is missing
  int64_t process = 0, thread = 0;
  std::string gpu;         ///< "0", or "NULL"
  int64_t first_line = 0;  ///< of the file, from 1
  bool whole = false;      ///< its end is there
};

/// Splits text into entries. What stands before cuDNN's marker in a line (the prefixes that launchers and containers
/// put there) is cut off, the colours of terminals too, and lines of other programs between cuDNN's are told apart. Where two writers' entries are
/// mixed line by line, a line goes to the entry that was begun last and is still open.
class LogSplitter {
 public:
  using OnEntry = std::function<void(LogEntry&& entry)>;
  /// A line that is none of cuDNN's, without its end; empty ones are only counted.
  using OnText = std::function<void(std::string_view line, int64_t number)>;

  LogSplitter(OnEntry on_entry, OnText on_text) : on_entry_(std::move(on_entry)), on_text_(std::move(on_text)) {}

  /// The next bytes of the file, however they are cut. Lines end with \n, \r\n or \0.
  void feed(std::string_view bytes);

  /// The file is at its end: gives what is open.
  void finish();

  /// Whether an entry was begun whose end has not come.
  bool is_in_entry() const { return !open_.empty(); }

  int64_t lines() const { return number_; }

  /// A longer line is cut off here, its rest dropped; a whole graph is some 100 KB.
  static constexpr size_t longest_line = size_t{16} << 20;
  /// An entry's lines beyond this are dropped; a backward graph's plan has 12,000.
  static constexpr size_t most_lines = 200'000;
  /// cuDNN itself cuts entries off after 65472 bytes, their end with them (seen from 9.0 to 9.28). One that comes near
  /// to that and is followed by another was cut, not interrupted.
  static constexpr size_t longest_entry = 65'000;

 private:
  void line(std::string_view text);
  void body(std::string_view text);
  void close(size_t open);

  OnEntry on_entry_;
  OnText on_text_;
  std::string pending_;  // a line whose end has not come
  struct OpenEntry {
    LogEntry entry;
    size_t bytes = 0;
  };
  std::vector<OpenEntry> open_;  // the last is the innermost
  int64_t number_ = 0;
};

}  // namespace attnprobe::log
