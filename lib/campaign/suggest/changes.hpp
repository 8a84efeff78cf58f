// Changes to a config after which it might work. They are guesses until somebody asks cuDNN.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attention/spec.hpp"

namespace attnprobe::campaign {

/// What a change costs its user, the least first.
enum class ChangeCost {
  none,         ///< the same numbers from the same memory: another way to ask
  layout,       ///< the same numbers, tensors lie otherwise or are copied
  padding,      ///< the same numbers, more work
  splitting,    ///< the same numbers in several calls
  precision,    ///< nearly the same numbers
  option,       ///< an output or a property less
  computation,  ///< another result
};

struct Change {
  std::string kind;  ///< what it touches, the word for --keep: "head_dim", "layout", "dtype"
  ChangeCost cost = ChangeCost::none;
  std::string text;  ///< "head dimensions padded with zeros to 104 and 104, the scale kept"
  std::function<void(attention::AttentionSpec&)> make;
};

/// Single changes that apply to a config, the cheapest first; two of different kinds can be made together.
/// `must_not_vary`: also the deterministic form, which nobody wants otherwise.
std::vector<Change> changes_of(const attention::AttentionSpec& spec, bool must_not_vary = false);

/// Their kinds, for --help and messages.
std::vector<std::string> change_kinds();

}  // namespace attnprobe::campaign
