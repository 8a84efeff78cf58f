// The figures of a timed plan: one row here brings a field of probe::TimeFindings to text, CSV and page. JSON and its
// schema have the field from the struct itself.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "probe/run_findings.hpp"

namespace attnprobe::report {

struct Measurement {
  std::string_view key;  ///< of the struct, of JSON's "time" and of CSV's columns
  std::optional<double> probe::TimeFindings::*value;
  std::string_view what;     ///< its description in the schema; "" where the name says it
  std::string_view in_text;  ///< how the table writes it, a format of fmt: ", hot {:.4g} ms"; "": not there
  double text_factor = 1;    ///< what the table multiplies it by
  bool in_csv = false;
  std::string_view in_page = "";  ///< its key in the page's data, "ms"; "": not there
  std::string_view unit = "";     ///< that the page writes behind it
};

/// In the order of the columns.
const std::vector<Measurement>& measurements();

/// The one that all others are ranked by.
inline constexpr std::string_view median_time = "median_ms";

}  // namespace attnprobe::report
