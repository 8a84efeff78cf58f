// Whether the program was built with the preset sanitize, which changes a process's memory map and needs.
#pragma once

#include <cstdlib>

namespace attnprobe::test {

/// Detected from the variables that the preset sets for its tests. UBSan tests memory through a pipe, and reports an
/// object as broken if no descriptor is left; ASan maps terabytes.
inline bool under_sanitizers() {
  return std::getenv("ASAN_OPTIONS") != nullptr;
}

}  // namespace attnprobe::test
