// Finds the region of failing configs around a failure: its condition and the evidence.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/version.hpp"
#include "studies/hunt/condition_search.hpp"
#include "studies/hunt/trial.hpp"

namespace attnprobe::hunt {

/// Runs configs on the GPU with the cuDNN that failed. Returns trials in the order of the probes.
using Ask = std::function<std::vector<Trial>(const std::vector<Probe>& probes)>;

struct FenceOptions {
  size_t fresh = 20;  ///< confirming configs: failing inside, correct just outside
  size_t most_rounds = 10;
  uint64_t first_seed = 1;  ///< seed of the random configs inside and outside
};

struct Region {
  Trial smallest;                  ///< the failing config, reduced
  std::vector<std::string> steps;  ///< the reductions
  std::vector<Literal> literals;   ///< the condition; empty: no conjunction separates failing from correct configs
  size_t inside_failed = 0, inside_right = 0;  ///< trials since the last change of the condition
  size_t outside_right = 0, outside_failed = 0;
  std::vector<Trial> failing, right;  ///< every tried config, by outcome
  bool is_confirmed = false;
};

/// `known`: trials of the same cuDNN and GPU; correct trials bound the region from the start.
Region fence(const Trial& failing, const std::vector<Trial>& known, int sm, const Ask& ask,
             const FenceOptions& options);

/// Whether the region's condition includes the trial.
bool is_inside(const Region& region, const Trial& trial, int sm);

}  // namespace attnprobe::hunt
