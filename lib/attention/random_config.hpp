// Random attention configs over all features of docs/config.md, to compare GPUs and for tests.
#pragma once

#include <cstdint>

#include "base/json.hpp"

namespace attnprobe::attention {

/// A config for pattern sdpa, sdpa_composite or sdpa_unified, without a name. It passes validation. Most features are
/// off in most configs, so that cuDNN supports many of them. A seed gives the same config with every standard library.
Json random_config(uint64_t seed);
/// The same, but about four in ten configs use features that cuDNN gained after 9.21.
Json random_newer_config(uint64_t seed);

}  // namespace attnprobe::attention
