// A matrix against a baseline that is committed: --baseline, --update, --report.
#pragma once

#include <string>
#include <vector>

#include "commands.hpp"
#include "report/model/baseline.hpp"

namespace attnprobe::app {

struct BaselineOptions {
  std::string file;  ///< "": none
  bool update = false;
  std::vector<std::string> reports;  ///< "junit=FILE", "md=FILE"
  bool is_wanted() const { return !file.empty(); }
};

void add_baseline_options(CLI::App& command, BaselineOptions& options);

/// Of a run that is about to begin: the baseline's file read, and every file that is to be written tried.
class Baseline {
 public:
  /// `asked`: how cuDNN is asked, where not as usual; `inputs`: the files that the command reads. Throws Error(usage) for
  /// a lock that is not there or damaged (unless it is to be written anew), that was asked in another way, and for what
  /// is no report.
  Baseline(BaselineOptions options, std::string asked, const std::vector<std::string>& inputs);

  /// Compares, tells, writes reports: those of --report and, where `folder` is not "", report.xml and report.md there,
  /// in place of those that tell of expectations alone. With --update writes the lock, unless cells were not asked.
  /// `has_expectation`: by config, whether it says itself what is expected. Gives the exit code.
  int finish(const report::CellTable& table, const std::vector<bool>& has_expectation, const std::string& folder) const;

 private:
  BaselineOptions options_;
  std::string asked_;
  report::BaselineLock before_;
  struct Report {
    std::string form, file;
  };
  std::vector<Report> reports_;
};

}  // namespace attnprobe::app
