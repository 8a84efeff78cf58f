// The members of a result in JSON: how to write each, and its schema. Internal to lib/report.
#pragma once

#include <vector>

#include "report/formats/report.hpp"

namespace attnprobe::report {

struct ResultMember {
  const char* key;
  bool is_optional;  ///< omitted if there is no value, or in a matrix
  Json (*schema)();
  /// Writes the value, or omits an absent optional value.
  void (*put)(const answer::Answer& result, Json& json);
};

/// In the order in which they are written.
const std::vector<ResultMember>& result_members();

}  // namespace attnprobe::report
