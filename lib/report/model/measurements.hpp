// The figures of a timed plan: one row here adds a field of probe::TimeFindings to text, CSV and page. JSON and its
// schema get the field from the struct itself.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "probe/run_findings.hpp"

namespace attnprobe::report {

struct Measurement {
  std::string_view key;  ///< of the struct, of JSON's "time" and of CSV's columns
  std::optional<double> probe::TimeFindings::*value;
  std::string_view what;     ///< its description in the schema; "" if the name is enough
  std::string_view in_text;  ///< its form in the table, a format of fmt: ", hot {:.4g} ms"; "": not included
  double text_factor = 1;    ///< the table multiplies it by this
  bool in_csv = false;
  std::string_view in_page = "";  ///< its key in the page's data, "ms"; "": not included
  std::string_view unit = "";     ///< that the page writes after it
};

/// In the order of the columns.
const std::vector<Measurement>& measurements();

/// The one by which plans are ranked.
inline constexpr std::string_view median_time = "median_ms";

}  // namespace attnprobe::report
