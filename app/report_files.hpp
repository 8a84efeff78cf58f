// The report files of a command: opened before the work, rewritten during the work, complete at its end.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "ask.hpp"
#include "base/output_file.hpp"
#include "report/formats/format.hpp"

namespace attnprobe::app {

const report::Format& format_called(const std::string& name, const char* option);

class ReportFiles {
 public:
  /// For --report, --output and --errata. Throws Error(usage) for an unknown format and an unwritable file.
  explicit ReportFiles(const AskOptions& options);

  /// Sets the number of results.
  void expect(size_t total) { results_.resize(total); }
  /// Rewrites the files that can be rewritten, at most once a second and in a tenth of the time. Reports a failure once
  /// and tries the file again at the end, because an unwritable file must not end the run.
  void add(const answer::Answer& result, size_t index);
  /// Writes each file once more; those that cannot be rewritten come last, after `before_streams`. Returns the first
  /// exception, after trying all files.
  std::exception_ptr finish(const report::Document& document, const std::function<void()>& before_streams);

 private:
  struct ReportFile {
    OutputFile file;
    std::function<std::string(const report::Document& document)> render;
    bool is_live = false, has_failed = false;
  };

  std::vector<ReportFile> files_;
  report::Results results_;
  using Clock = std::chrono::steady_clock;
  Clock::time_point next_write_ = Clock::now() + std::chrono::seconds(1);
};

}  // namespace attnprobe::app
