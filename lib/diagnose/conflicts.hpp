// What a text tells of GPU and shape, held against what the kernel that it names takes and what its message demands: the
// conflict is the cause. Internal to lib/diagnose.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnose/text_facts.hpp"

namespace attnprobe::diagnose {

struct Conflict {
  std::string what;       // a sentence
  bool is_final = false;  // no build, no padding changes it: the GPU, or a head dimension above the largest
};

/// `message`: the words that refuse. `named`: where kernels are looked for by their names: the message, the title, the frames above.
/// Facts that stand in the message as its limit are no conflict with it.
std::vector<Conflict> conflicts_in(std::string_view message, std::string_view named, const TextFacts& facts);

}  // namespace attnprobe::diagnose
