// The members of a result in JSON: what each is made of, and its schema beside it. Internal to lib/report.
#pragma once

#include <vector>

#include "report/formats/report.hpp"

namespace attnprobe::report {

struct ResultMember {
  const char* key;
  bool is_optional;  ///< left out where there is none, or by a matrix
  Json (*schema)();
  /// Writes the value, or leaves an optional one alone.
  void (*put)(const answer::Answer& result, Json& json);
};

/// In the order in which they are written.
const std::vector<ResultMember>& result_members();

}  // namespace attnprobe::report
