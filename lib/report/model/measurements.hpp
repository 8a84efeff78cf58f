// The figures of a timed plan: one row here adds a field of probe::TimeFindings to text, CSV and page. JSON and its
// schema get the field from the struct itself.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "probe/run_findings.hpp"

namespace attnprobe::report {

struct Measurement {
  std::string_view key;  ///< name in the struct, in JSON's "time" and in CSV's columns
  std::optional<double> probe::TimeFindings::*value;
  std::string_view what;     ///< its description in the schema; "" if the name is clear
  std::string_view in_text;  ///< its form in the table, a format of fmt: ", hot {:.4g} ms"; "": not included
  double text_factor = 1;    ///< factor for the table
  bool in_csv = false;
  std::string_view in_page = "";  ///< its key in the page's data, "ms"; "": not included
  std::string_view unit = "";     ///< unit on the page
};

/// In the order of the columns.
const std::vector<Measurement>& measurements();

/// The measurement that ranks plans.
inline constexpr std::string_view median_time = "median_ms";

}  // namespace attnprobe::report
