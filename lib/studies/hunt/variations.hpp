// Creates configs near a given one, to find what a failure depends on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "studies/hunt/condition_search.hpp"

namespace attnprobe::hunt {

/// Fields of a config (reduce::fields_of) with one change.
struct Variation {
  std::string what;  ///< "mask causal", "without bias", "seqlen_kv 129"
  Json fields;
  bool is_simpler = false;  ///< a reduction: a field removed, or a smaller size
};

/// The config with one field removed, one value changed, or one feature added. Some contradict themselves.
std::vector<Variation> variations_of(const Json& fields);

/// Configs with a size halfway to the nearest correct value, to find where a failure begins and ends. `failing` and
/// `right` are values of one size. Empty if they are neighbours.
std::vector<Variation> halfway(const Json& fields, const std::string& size, int64_t failing, int64_t right);

/// A random config changed to meet the condition: fields of a false literal come from `failing`.
Json moved_inside(Json random, const Json& failing, const std::vector<Literal>& broken);
/// Failing configs with the fields of one literal from `other`, or with a size just beyond its bound.
std::vector<Json> moved_outside(const Json& failing, const Json& other, const Literal& literal);

}  // namespace attnprobe::hunt
