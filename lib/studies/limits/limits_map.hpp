// Maps in the form that their writers need. Not installed.
#pragma once

#include "studies/limits/limits_text.hpp"

namespace attnprobe::limits {

/// One map: its rows begin with the first value of the vertical axis, which is the last of Question::vary.
struct Map {
  std::string title;
  std::vector<const Row*> rows;
};

/// The key of an axis's place in Row::asked and Row::times.
int64_t place_at(const Axis& axis, size_t index);

/// One map per combination of the other fields, GPUs and cuDNNs.
std::vector<Map> maps_of(const Question& question, const Limits& limits);

}  // namespace attnprobe::limits
