// Random draws for random configs. Internal to lib/attention.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "base/json.hpp"

namespace attnprobe::attention {

class Draw {
 public:
  explicit Draw(uint64_t seed) : engine_(seed) {}

  // Own implementation: std::uniform_int_distribution may differ between standard libraries.
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine_() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int64_t percent) { return between(1, 100) <= percent; }

  template <typename T>
  T one_of(const std::vector<T>& values) {
    return values[static_cast<size_t>(between(0, static_cast<int64_t>(values.size()) - 1))];
  }

  template <typename T>
  T weighted(const std::vector<std::pair<T, int64_t>>& values) {
    int64_t total = 0;
    for (const auto& [value, weight] : values) total += weight;
    int64_t dice = between(1, total);
    for (const auto& [value, weight] : values)
      if ((dice -= weight) <= 0) return value;
    return values.back().first;
  }

 private:
  std::mt19937_64 engine_;
};

/// Changes strides, types and layouts of some of the config's tensors, mostly optional ones.
void vary_tensors(uint64_t seed, Json& config);

}  // namespace attnprobe::attention
