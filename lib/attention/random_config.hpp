// Random attention configs over the whole feature space of docs/config.md: for comparing GPUs, and for tests.
#pragma once

#include <cstdint>

#include "base/json.hpp"

namespace attnprobe::attention {

/// One config for pattern sdpa, sdpa_composite or sdpa_unified, without a name. It contradicts nothing that config
/// validation knows; most features are off in most configs, so that cuDNN supports many of them. The same seed gives
/// the same config with every standard library.
Json random_config(uint64_t seed);
/// The same with what cuDNN got after 9.21, in about four configs of ten.
Json random_newer_config(uint64_t seed);

}  // namespace attnprobe::attention
