// Which simulated GPUs were compared with a real one: lib/gpu/comparisons.json, built in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/version.hpp"
#include "gpu/target.hpp"

namespace attnprobe::gpu {

/// Configs compared between a real GPU and its catalogue entry, with the same cuDNN.
struct Comparison {
  std::string gpu;  ///< an id of the catalogue
  int sm = 0;       ///< of that GPU
  CudnnVersion cudnn;
  int64_t configs = 0, engine_configs = 0;
  int64_t different = 0;  ///< configs with any difference
  std::string source;     ///< date and versions
};

/// Throws Error(internal) naming file, entry and problem.
std::vector<Comparison> parse_comparisons(std::string_view text);

/// The built-in comparisons.
const std::vector<Comparison>& comparisons();

/// One phrase for a simulated target:
///   "compared with a real h200 (12,000 configs with cuDNN 9.14.0, 9.19.0, 9.26.1: no difference)"
///   "not compared with a real one yet; sm_90 was, on h100, h200"
///   "not compared with a real one yet"
std::string compared_text(const Target& target);

}  // namespace attnprobe::gpu
