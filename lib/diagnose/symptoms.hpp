// What somebody tells of an attention where no library says anything. Internal to lib/diagnose.
#pragma once

#include <string_view>
#include <vector>

#include "diagnose/readings.hpp"
#include "diagnose/refusal.hpp"

namespace attnprobe::diagnose {

/// Where the words of a symptom stand together.
struct Told {
  const Symptom* symptom = nullptr;
  size_t at = 0;      // the first of its groups, the first time
  int64_t score = 0;  // how often; a title counts more
};

/// Those that the text tells of most; what is told in passing is not what it is about.
std::vector<Told> most_told(std::string_view text);

Refusal refusal_of(const Symptom& symptom, std::string_view text, size_t at, const TextFacts& facts);

}  // namespace attnprobe::diagnose
