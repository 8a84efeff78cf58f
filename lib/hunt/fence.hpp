// The region of configs in which cuDNN fails, found around one config by asking for others: its condition, and how surely.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/version.hpp"
#include "hunt/condition_search.hpp"
#include "hunt/trial.hpp"

namespace attnprobe::hunt {

/// Runs configs on the GPU with the cuDNN that failed; trials in the order of the probes.
using Ask = std::function<std::vector<Trial>(const std::vector<Probe>& probes)>;

struct FenceOptions {
  size_t fresh = 20;  ///< configs that must fail inside and be right just outside, after the condition last changed
  size_t most_rounds = 10;
  uint64_t first_seed = 1;  ///< of the random configs inside and outside
};

struct Region {
  Trial smallest;                  ///< the failing config, reduced
  std::vector<std::string> steps;  ///< what reducing took away
  std::vector<Literal> literals;   ///< the condition; empty: no conjunction tells failing configs from right ones
  size_t inside_failed = 0, inside_right = 0;  ///< fresh ones since the condition last changed
  size_t outside_right = 0, outside_failed = 0;
  std::vector<Trial> failing, right;  ///< every config that was asked for, by what became of it
  bool is_confirmed = false;
};

/// `known`: trials of the same cuDNN and GPU; the right ones bound the region from the start.
Region fence(const Trial& failing, const std::vector<Trial>& known, int sm, const Ask& ask,
             const FenceOptions& options);

/// Whether a trial lies in the region, by its condition.
bool is_inside(const Region& region, const Trial& trial, int sm);

}  // namespace attnprobe::hunt
