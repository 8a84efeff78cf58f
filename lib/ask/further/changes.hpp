// Changes to a config that might make it work. They are guesses until cuDNN is asked.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attention/spec.hpp"

namespace attnprobe::asking {

/// The cost of a change for the user, least first.
enum class ChangeCost {
  none,         ///< the same numbers from the same memory: another way to ask
  layout,       ///< the same numbers, but tensors have another layout or are copied
  padding,      ///< the same numbers, more work
  splitting,    ///< the same numbers in several calls
  precision,    ///< nearly the same numbers
  option,       ///< without one output or property
  computation,  ///< another result
  model,        ///< another model
};

struct Change {
  std::string kind;  ///< the part that it changes, as in --keep: "head_dim", "layout", "dtype"
  ChangeCost cost = ChangeCost::none;
  std::string text;  ///< "head dimensions padded with zeros to 104 and 104, the scale kept"
  std::function<void(attention::AttentionSpec&)> make;
};

/// Single changes that apply to a config, cheapest first; two of different kinds can be combined. `must_not_vary`: also
/// the deterministic form, which is otherwise useless.
std::vector<Change> changes_of(const attention::AttentionSpec& spec, bool must_not_vary = false);

/// Other head dimensions, nearest first: those that models are built with, and the nearest multiples of 8. Each is
/// another
/// model, of kind "model". None for tensors with explicit strides.
std::vector<Change> other_models(const attention::AttentionSpec& spec);

/// The kinds of changes, for --help and messages.
std::vector<std::string> change_kinds();

}  // namespace attnprobe::asking
