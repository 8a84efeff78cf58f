// What is varied: a field of a config, or a member of one, with the values that it takes.
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
  std::string name;  ///< as it was asked for: "head_dim", "window", "mask"
  /// One of the two: the numbers of a range, or values in the order in which they were given.
  std::optional<attention::Range> range;
  std::vector<Json> values;
  bool range_is_usual = false;  ///< nobody named the range
  /// Sets the field; throws Error(usage) for a value that it cannot have.
  std::function<void(attention::AttentionSpec&, const Json& value)> set;
};

/// "head_dim", "head_dim=8:512:8", "mask=none,causal,layout=bshd,thd": words between commas are values of the field named
/// before them. A number without values gets the usual range of its field, a word all its values. `option` begins
/// messages. Throws Error(usage) for an unknown field, a bad range, and where a field has no usual values.
std::vector<Axis> read_axes(const std::vector<std::string>& words, const std::string& option);

/// Of a range, or the values given.
size_t count_of(const Axis& axis);
Json value_at(const Axis& axis, size_t index);

/// For people and JSON: a text as it is, anything else as JSON.
std::string text_of(const Json& value);

/// What may be varied, for --help and messages.
std::vector<std::string> axis_names();

}  // namespace attnprobe::limits
