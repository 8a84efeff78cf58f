// The members of a result in JSON: how each is written, with its schema. Internal to lib/report.
#pragma once

#include <vector>

#include "report/formats/report.hpp"

namespace attnprobe::report {

struct ResultMember {
  const char* key;
  bool is_optional;  ///< left out if there is no value, or by a matrix
  Json (*schema)();
  /// Writes the value, or leaves out an optional one.
  void (*put)(const answer::Answer& result, Json& json);
};

/// In the order in which they are written.
const std::vector<ResultMember>& result_members();

}  // namespace attnprobe::report
