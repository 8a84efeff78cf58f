// Compares a matrix with a committed baseline: for a terminal, a step summary, and JUnit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/formats/report.hpp"
#include "report/model/baseline.hpp"

namespace attnprobe::report {

struct BaselineReport {
  std::string file;  ///< of the baseline, as on the command line
  const CellTable* table = nullptr;
  LockComparison comparison;        ///< cells of `table`
  std::vector<const Cell*> missed;  ///< cells that differ from their config's own "expect"
};

/// "attention.lock: 150 cells compared: 2 worse, 1 better, 1 changed; 3 new", or "nothing changed".
std::string baseline_headline(const BaselineReport& report);

/// Every change, with cuDNN's reason for new refusals. Of changes that are not failures, lists a few and the number of
/// others.
std::string baseline_text(const BaselineReport& report, const TextStyle& style);

/// Markdown for a step summary: worse cells, unexpected cells, and the number of others.
std::string baseline_markdown(const BaselineReport& report);

/// JUnit XML with one case per cell; a cell that got worse or is unexpected is a failure.
std::string baseline_junit(const BaselineReport& report);

/// The reason of each failing cell.
std::map<const Cell*, std::string> baseline_failures(const BaselineReport& report);

}  // namespace attnprobe::report
