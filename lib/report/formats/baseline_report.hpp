// What a matrix says against a committed baseline: for a terminal, a step summary, and JUnit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/formats/report.hpp"
#include "report/model/baseline.hpp"

namespace attnprobe::report {

struct BaselineReport {
  std::string file;  ///< of the baseline, as the command line has it
  const CellTable* table = nullptr;
  LockComparison comparison;        ///< of `table`
  std::vector<const Cell*> missed;  ///< cells that are not what their config's own "expect" says
};

/// "attention.lock: 150 cells compared: 2 worse, 1 better, 1 changed; 3 new": "nothing changed" where nothing did.
std::string baseline_headline(const BaselineReport& report);

/// Every change, with cuDNN's reason where it is refused now; of those that are no failure a few, and how many more.
std::string baseline_text(const BaselineReport& report, const TextStyle& style);

/// Markdown, for a step summary: what got worse, what misses its expectation, and the others' number.
std::string baseline_markdown(const BaselineReport& report);

/// JUnit XML, a case a cell; a failure where it got worse or misses its expectation.
std::string baseline_junit(const BaselineReport& report);

/// Why each cell that fails does.
std::map<const Cell*, std::string> baseline_failures(const BaselineReport& report);

}  // namespace attnprobe::report
