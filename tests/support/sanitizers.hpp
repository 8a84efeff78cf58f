// Whether the program was built with the preset sanitize, which changes what a process maps and needs.
#pragma once

#include <cstdlib>

namespace attnprobe::test {

/// From the variables that the preset sets for its tests. UBSan tests memory through a pipe, and reports an object as
/// broken if no descriptor is left; ASan maps terabytes.
inline bool under_sanitizers() {
  return std::getenv("ASAN_OPTIONS") != nullptr;
}

}  // namespace attnprobe::test
