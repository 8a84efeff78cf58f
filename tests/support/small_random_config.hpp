// Random configs that plain attention can compute.
#pragma once

#include <cstdint>
#include <optional>

#include "base/json.hpp"

namespace attnprobe {

/// attention::random_config, composite and small enough for plain attention's loops in double; std::nullopt for
/// unsupported features. It may contradict itself, and plain attention may throw NotPlain.
std::optional<Json> small_random_config(uint64_t seed);

}  // namespace attnprobe
