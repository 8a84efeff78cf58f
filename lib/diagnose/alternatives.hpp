// Changes to a config that might make it supported. They are guesses until somebody probes them.
#pragma once

#include <string>
#include <vector>

#include "attention/spec.hpp"

namespace attnprobe::diagnose {

struct Alternative {
  attention::AttentionSpec spec;
  std::string change;  ///< "pattern \"sdpa\" instead of \"mha\""
};

/// Single changes, the smallest first.
std::vector<Alternative> alternatives(const attention::AttentionSpec& spec);

}  // namespace attnprobe::diagnose
