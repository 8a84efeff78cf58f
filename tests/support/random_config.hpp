// Random attention configs over the whole feature space of docs/config.md.
#pragma once

#include <cstdint>
#include <optional>

#include "base/json.hpp"

namespace attnprobe {

/// One config for pattern sdpa, sdpa_composite or sdpa_unified, without a name. It contradicts nothing that config
/// validation knows; most features are off in most configs, so that cuDNN supports many of them. The same seed gives
/// the same config with every standard library.
Json random_config(uint64_t seed);

/// The same, composite and small enough for plain attention's loops in double; std::nullopt for what that has not. It
/// may contradict itself, and plain attention may throw NotPlain.
std::optional<Json> small_random_config(uint64_t seed);

}  // namespace attnprobe
