// The names by which people and messages call GPUs of one generation. Internal to lib/diagnose.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace attnprobe::diagnose {

struct GpuFamily {
  std::string_view name;
  std::string_view target;   // a GPU of the catalogue that stands for it; "": none does
  int least = 0, below = 0;  // its compute capabilities: 80 to 88
};

inline constexpr std::array<GpuFamily, 8> gpu_families{{{"Maxwell", "", 50, 60},
                                                        {"Pascal", "", 60, 70},
                                                        {"Volta", "v100", 70, 75},
                                                        {"Turing", "t4", 75, 80},
                                                        {"Ampere", "a100", 80, 89},
                                                        {"Ada", "l40s", 89, 90},
                                                        {"Hopper", "h100", 90, 100},
                                                        {"Blackwell", "", 100, 130}}};

/// None: no family is called so.
constexpr const GpuFamily* gpu_family(std::string_view name) {
  const auto* found =
      std::find_if(gpu_families.begin(), gpu_families.end(), [&](const GpuFamily& one) { return one.name == name; });
  return found == gpu_families.end() ? nullptr : found;
}

}  // namespace attnprobe::diagnose
