// Changes to a config that might make it work. They are guesses until cuDNN is asked.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attention/spec.hpp"

namespace attnprobe::asking {

/// The cost of a change for the user, cheapest first.
enum class ChangeCost {
  none,         ///< same results from the same memory, expressed differently
  layout,       ///< same results, but tensors have another layout or are copied
  padding,      ///< same results, more work
  splitting,    ///< same results, in several calls
  precision,    ///< nearly the same results
  option,       ///< loses one output or property
  computation,  ///< different results
  model,        ///< a different model
};

struct Change {
  std::string kind;  ///< what it changes, as in --keep: "head_dim", "layout", "dtype"
  ChangeCost cost = ChangeCost::none;
  std::string text;  ///< "head dimensions padded with zeros to 104 and 104, the scale kept"
  std::function<void(attention::AttentionSpec&)> make;
};

/// Single changes that apply to a config, cheapest first; two changes of different kinds can be combined.
/// `must_not_vary`: also offers the deterministic form, which is otherwise useless.
std::vector<Change> changes_of(const attention::AttentionSpec& spec, bool must_not_vary = false);

/// Other head dimensions, nearest first: those common in models, and the nearest multiples of 8. Each makes a different
/// model (kind "model"). None for tensors with explicit strides.
std::vector<Change> other_models(const attention::AttentionSpec& spec);

/// The kinds of changes, for --help and messages.
std::vector<std::string> change_kinds();

}  // namespace attnprobe::asking
