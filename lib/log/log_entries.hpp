// Splits cuDNN's log into entries while reading it. Needs no cuDNN; memory does not grow with the file.
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
  CudnnVersion version;            ///< as from cudnnGetVersion: 91900
  std::string function;            ///< "cudnnBackendFinalize()"
  std::vector<std::string> lines;  ///< lines between head and "Time:", without the marker "i! ", with indentation
  std::string time;                ///< "2026-11-21T06:54:53.327163"; "" if the end is missing
  int64_t process = 0, thread = 0;
  std::string gpu;         ///< "0", or "NULL"
  int64_t first_line = 0;  ///< in the file, from 1
  bool whole = false;      ///< the end of the entry was read
};

/// From one entry's time to another's; 0 if either is missing.
double seconds_between(const std::string& begin, const std::string& end);

/// Splits text into entries. It removes prefixes that launchers and containers put before cuDNN's marker, and terminal
/// colours. It separates lines of other programs. If several writers' lines mix, a line belongs to the open entry that
/// began last.
class LogSplitter {
 public:
  using OnEntry = std::function<void(LogEntry&& entry)>;
  /// A line of another program, without its line end. Empty lines are only counted.
  using OnText = std::function<void(std::string_view line, int64_t number)>;

  LogSplitter(OnEntry on_entry, OnText on_text) : on_entry_(std::move(on_entry)), on_text_(std::move(on_text)) {}

  /// Accepts the next bytes of the file; a piece may end anywhere. Lines end with \n, \r\n or \0.
  void feed(std::string_view bytes);

  /// Call at the end of the file: emits open entries.
  void finish();

  /// Whether an entry has begun but not ended.
  bool is_in_entry() const { return !open_.empty(); }

  int64_t lines() const { return number_; }

  /// Longer lines are truncated. A whole graph has about 100 KB.
  static constexpr size_t longest_line = size_t{16} << 20;
  /// Longer entries are truncated. The plan of a backward graph has 12,000 lines.
  static constexpr size_t most_lines = 200'000;
  /// cuDNN truncates entries after 65472 bytes and omits their end (seen from 9.0 to 9.28). If an entry is near that
  /// size and another follows, cuDNN truncated it; otherwise it was interrupted.
  static constexpr size_t longest_entry = 65'000;

 private:
  void line(std::string_view text);
  void body(std::string_view text);
  void close(size_t open);

  OnEntry on_entry_;
  OnText on_text_;
  std::string pending_;  // an incomplete line
  struct OpenEntry {
    LogEntry entry;
    size_t bytes = 0;
  };
  std::vector<OpenEntry> open_;  // innermost last
  int64_t number_ = 0;
};

}  // namespace attnprobe::log
