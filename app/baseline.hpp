// Compares a matrix with a committed baseline: --baseline, --update, --report.
#pragma once

#include <string>
#include <vector>

#include "commands.hpp"
#include "report/model/baseline.hpp"

namespace attnprobe::app {

struct BaselineOptions {
  std::string file;  ///< "": no baseline
  bool update = false;
  std::vector<std::string> reports;  ///< "junit=FILE", "md=FILE"
  bool is_wanted() const { return !file.empty(); }
};

void add_baseline_options(CLI::App& command, BaselineOptions& options);

/// Before a run: reads the baseline's file, and checks every output file.
class Baseline {
 public:
  /// `asked`: how cuDNN is asked, if unusual; `inputs`: the files that the command reads. Throws Error(usage) for a
  /// missing or damaged lock, unless it will be replaced. Also throws for a lock with other options, and for an unknown
  /// report.
  Baseline(BaselineOptions options, std::string asked, const std::vector<std::string>& inputs);

  /// Compares, prints, and writes reports: those of --report and, if `folder` is not "", report.xml and report.md
  /// there. These replace the reports that have only expectations. With --update, writes the lock unless some cells
  /// were not asked. `has_expectation`: for each config, whether it has its own expectation. Returns the exit code.
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
