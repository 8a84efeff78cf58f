// Random attention configs over all features of docs/config.md, for comparing GPUs and for tests.
#pragma once

#include <cstdint>

#include "base/json.hpp"

namespace attnprobe::attention {

/// A config for pattern sdpa, sdpa_composite or sdpa_unified, without a name. It passes validation. Most features are
/// off in most configs, so that cuDNN supports many of them. A seed yields the same config with every standard library.
Json random_config(uint64_t seed);
/// The same, but about 40 % of the configs use features added after cuDNN 9.21.
Json random_newer_config(uint64_t seed);

}  // namespace attnprobe::attention
