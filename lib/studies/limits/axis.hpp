// The varied field of a config, or a member of one, with its values.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attention/range.hpp"
#include "attention/spec.hpp"
#include "base/json.hpp"

namespace attnprobe::limits {

struct Axis {
  std::string name;  ///< as requested: "head_dim", "window", "mask"
  /// Either the numbers of a range, or a list of values in order.
  std::optional<attention::Range> range;
  std::vector<Json> values;
  bool range_is_usual = false;  ///< the range is the default
  /// Sets the field; throws Error(usage) for an impossible value.
  std::function<void(attention::AttentionSpec&, const Json& value)> set;
};

/// Parses "head_dim", "head_dim=8:512:8", "mask=none,causal,layout=bshd,thd": words between commas are values of the
/// previous field. Without values, a numeric field gets its default range, any other field all its values. `option`
/// begins messages. Throws Error(usage) for an unknown field, a bad range, and a field without default values.
std::vector<Axis> read_axes(const std::vector<std::string>& words, const std::string& option);

/// The size of the range, or the number of values.
size_t count_of(const Axis& axis);
Json value_at(const Axis& axis, size_t index);

/// For display and JSON: a string unchanged, anything else as JSON.
std::string text_of(const Json& value);

/// The fields that may be varied, for --help and messages.
std::vector<std::string> axis_names();

}  // namespace attnprobe::limits
